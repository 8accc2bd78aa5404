import cinnet


def test_every_public_name_is_what_it_says_however_often_it_is_asked_for():
    for _ in range(2):
        for name in cinnet.__all__:
            thing = getattr(cinnet, name)
            assert getattr(thing, "__name__", name) == name
            assert type(thing).__name__ != "module"
    assert set(cinnet.__all__) <= set(dir(cinnet))
