"""The settings that editors and type checkers offer are those that there are."""

import dataclasses
import inspect

import cinnet
from cinnet.config.settings import Settings
from cinnet.overrides import Overrides


def test_every_setting_can_be_given_by_name():
    named = {field.name for field in dataclasses.fields(Settings)} - {"method", "preset", "seed"}
    assert set(Overrides.__annotations__) == named
    assert inspect.signature(cinnet.solve).parameters["settings"].kind is inspect.Parameter.VAR_KEYWORD
