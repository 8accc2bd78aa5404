"""Public names: what they say, what type checkers see of them, and that each has its place in the documentation."""

import ast
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import cinnet

API_PAGES = Path(__file__).parent.parent / "docs" / "api"


def test_every_public_name_is_what_it_says_however_often_it_is_asked_for():
    for _ in range(2):
        for name in cinnet.__all__:
            thing = getattr(cinnet, name)
            assert getattr(thing, "__name__", name) == name
            assert type(thing).__name__ != "module"
    assert set(cinnet.__all__) <= set(dir(cinnet))


def test_names_are_listed_in_order_and_others_do_not_exist():
    assert cinnet.__all__ == sorted(cinnet.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    with pytest.raises(AttributeError, match="'nothing'"):
        _ = cinnet.nothing


def test_type_checkers_see_every_public_name_where_it_lives():
    tree = ast.parse(Path(cinnet.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == {name: home for home, names in cinnet._HOMES.items() for name in names}
    assert (Path(cinnet.__file__).parent / "py.typed").exists()


def documented() -> list[object]:
    """What the pages of the API show: every object they name, and the members of modules."""
    shown = []
    for page in sorted(API_PAGES.glob("*.md")):
        for path, options in re.findall(r"^::: ([\w.]+)\n((?: +.*\n)*)", page.read_text(), flags=re.MULTILINE):
            thing = pkgutil.resolve_name(path)
            members = re.search(r"members: \[(.*)\]", options)
            if members is not None:
                shown += [getattr(thing, name) for name in members[1].split(", ")]
            elif inspect.ismodule(thing):
                shown += [one for one in vars(thing).values() if getattr(one, "__module__", None) == path]
            else:
                shown.append(thing)
    return shown


def test_every_public_name_is_shown_in_the_documentation():
    shown = documented()
    classes_and_functions = [name for name in cinnet.__all__ if callable(getattr(cinnet, name))]
    assert [name for name in classes_and_functions if not any(getattr(cinnet, name) is one for one in shown)] == []
