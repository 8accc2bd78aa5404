import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("CINNET_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
