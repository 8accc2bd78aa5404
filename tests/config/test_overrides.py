"""What type checkers see is what there is."""

import ast
import dataclasses
import inspect
from pathlib import Path

import cinnet
from cinnet.config.overrides import Overrides
from cinnet.config.settings import Settings


def test_every_setting_can_be_given_by_name():
    named = {field.name for field in dataclasses.fields(Settings)} - {"method", "preset", "seed"}
    assert set(Overrides.__annotations__) == named
    assert inspect.signature(cinnet.solve).parameters["settings"].kind is inspect.Parameter.VAR_KEYWORD


def test_type_checkers_see_every_public_name_where_it_lives():
    tree = ast.parse(Path(cinnet.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == {name: home for home, names in cinnet._HOMES.items() for name in names}
    assert (Path(cinnet.__file__).parent / "py.typed").exists()
