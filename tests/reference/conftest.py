import pytest


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    """Every test has a reference cache of its own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("CINNET_CACHE", str(folder))
    return folder
