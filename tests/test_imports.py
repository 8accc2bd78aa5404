"""Arrows between rooms point down: a module imports only from rooms below its own."""

import ast
import re
from pathlib import Path

import pytest

import cinnet

SOURCE = Path(cinnet.__file__).parent
DESIGN = SOURCE.parent.parent / "docs" / "design.md"
ROOMS = [
    {"__main__"},
    {"cli"},
    {"solver"},
    {"overrides", "solution"},
    {"view"},
    {"assess"},
    {"result"},
    {"training"},
    {"storage"},
    {"config"},
    {"reference"},
    {"objective"},
    {"optimizers"},
    {"evaluation"},
    {"derivatives"},
    {"sampling"},
    {"networks", "problems"},
    {"embeddings", "history", "conditions"},
    {"jets", "nested", "observations"},
    {"fields"},
    {"symmetry", "unknowns", "gridded", "dataflow"},
    {"domains", "precision", "machine", "storage.files"},
]
DEPTH = {room: depth for depth, rooms in enumerate(ROOMS) for room in rooms}
REFERENCE_MAY_IMPORT = {"domains", "fields", "nested", "problems", "precision", "storage.files"}


def room(parts: list[str]) -> str:
    """The room of a module by its path inside cinnet; the files of `storage` are a floor below the rest of it."""
    return "storage.files" if parts[:2] == ["storage", "files"] else parts[0]


def room_of(path: Path) -> str:
    return room(list(path.relative_to(SOURCE).with_suffix("").parts))


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
    return {room(name[1:]) for name in parts if name[0] == "cinnet" and len(name) > 1} - {room_of(path), "__version__"}


FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")  # the facade knows all rooms


def test_every_room_has_its_place():
    assert {room_of(path) for path in FILES} == set(DEPTH)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path):
    upward = {room for room in imported_rooms(path) if DEPTH[room] <= DEPTH[room_of(path)]}
    assert not upward, f"{path.relative_to(SOURCE)} imports {sorted(upward)}, which are not below it"


@pytest.mark.parametrize("path", sorted((SOURCE / "reference").rglob("*.py")), ids=lambda path: path.name)
def test_the_reference_cannot_share_an_error_with_the_networks(path):
    assert imported_rooms(path) <= REFERENCE_MAY_IMPORT


def test_the_library_does_not_know_the_experiments():
    importers = [path for path in SOURCE.rglob("*.py") if re.search(r"import.*cinnet_experiments", path.read_text())]
    assert importers == []


def test_the_picture_in_the_design_page_is_this_one():
    (drawn,) = re.findall(r"^`(cli -> .*)`", DESIGN.read_text(), flags=re.MULTILINE)
    assert [set(floor.split(", ")) for floor in drawn.split(" -> ")] == ROOMS[1:]


def test_the_parser_sees_imports():
    """The rules above would be empty if the parser missed a form of import."""
    assert {"derivatives", "networks", "problems", "sampling"} <= imported_rooms(SOURCE / "objective" / "build.py")
    assert {"domains", "embeddings", "jets"} <= imported_rooms(SOURCE / "networks" / "base.py")
    assert "networks" not in imported_rooms(SOURCE / "networks" / "base.py")
