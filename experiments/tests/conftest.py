import pytest


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CINNET_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        yield
