"""Arrows between modules point down: a module imports only from rooms below its own."""

import ast
from pathlib import Path

import pytest

import cinnet

SOURCE = Path(cinnet.__file__).parent
LAYERS = [
    {"dataflow", "domains", "precision"},
    {"symmetry", "unknowns", "gridded"},
    {"fields"},
    {"jets", "nested", "observations"},
    {"embeddings", "history", "conditions"},
    {"networks", "problems"},
    {"sampling"},
    {"derivatives"},
    {"terms", "metrics", "priors"},
    {"losses"},
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
REFERENCE_MAY_IMPORT = {"domains", "fields", "nested", "problems", "precision"}


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """The rooms of cinnet a file imports from, by relative or absolute imports at any depth of the file."""
    package = ["cinnet", *path.relative_to(SOURCE).parts[:-1]]
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            module = [*start, *(node.module.split(".") if node.module else [])]
            names += [".".join([*module, alias.name]) for alias in node.names]
    parts = [name.split(".") for name in names]
    return {name[1] for name in parts if name[0] == "cinnet" and len(name) > 1} - {room_of(path)}


FILES = sorted(path for path in SOURCE.rglob("*.py") if room_of(path) in LEVEL)
REFERENCE_FILES = sorted((SOURCE / "reference").rglob("*.py"))


def test_every_room_has_its_place():
    assert {room_of(path) for path in FILES} == set(LEVEL)
    assert REFERENCE_FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path):
    level = LEVEL[room_of(path)]
    upward = {room for room in imported_rooms(path) if LEVEL.get(room, len(LAYERS)) >= level}
    assert not upward, f"{path.relative_to(SOURCE)} imports {sorted(upward)}, which are not below it"


@pytest.mark.parametrize("path", REFERENCE_FILES, ids=lambda path: path.name)
def test_the_reference_cannot_share_an_error_with_the_networks(path):
    assert imported_rooms(path) <= REFERENCE_MAY_IMPORT


def test_only_the_command_line_imports_experiments():
    importers = {room_of(path) for path in SOURCE.rglob("*.py") if "experiments" in imported_rooms(path)}
    assert importers == {"cli"}


def test_the_parser_sees_imports(tmp_path, monkeypatch):
    """The rules above would be empty if the parser missed a form of import."""
    found = imported_rooms(SOURCE / "losses.py")
    assert {"derivatives", "fields", "networks", "problems", "sampling"} <= found
    assert {"domains", "embeddings", "jets"} <= imported_rooms(SOURCE / "networks" / "base.py")
    assert "networks" not in imported_rooms(SOURCE / "networks" / "base.py")


def test_public_names_resolve():
    assert cinnet.__all__ == sorted(cinnet.__all__)
    for name in cinnet.__all__:
        if name != "reference_solution":
            assert getattr(cinnet, name) is not None
    assert set(cinnet.__all__) <= set(dir(cinnet))
    with pytest.raises(AttributeError, match="'nothing'"):
        _ = cinnet.nothing
