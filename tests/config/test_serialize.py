import dataclasses
import functools
import subprocess
import sys

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import cinnet
from cinnet.config.presets import resolve_settings
from cinnet.config.serialize import NeedsCodeError, fingerprint, from_json, needs_code, register, to_json
from cinnet.config.settings import Settings, Stage


class Halving(cinnet.Strategy):
    """A strategy of one's own, a dataclass of plain values."""

    every: int = eqx.field(static=True, default=3)


@dataclasses.dataclass(frozen=True)
class Kernel:
    rate: float = 2.0

    def __call__(self, t, s):
        return jnp.exp(-self.rate * (t - s))


@pytest.mark.parametrize(
    "value",
    [
        3,
        None,
        ("a", 2.5),
        cinnet.CausalWeights("auto"),
        cinnet.GrowingHorizon((0.5, 1.0)),
        cinnet.SOAP(learning_rate=cinnet.Cosine(1e-2, 100)),
        cinnet.LevenbergMarquardt(max_trials=3),
        cinnet.Monomial(1.5),
        Halving(4),
    ],
    ids=str,
)
def test_what_is_built_in_or_derived_from_it_comes_back(value):
    assert from_json(to_json(value)) == value


def test_a_dataclass_of_ones_own_comes_back_once_it_is_registered():
    with pytest.raises(NeedsCodeError, match="Kernel' is not known here; import or register it"):
        from_json(to_json(Kernel(3.0)))
    register(Kernel)
    assert from_json(to_json(Kernel(3.0))) == Kernel(3.0)
    assert needs_code(to_json(Kernel()))
    with pytest.raises(TypeError, match="only dataclasses"):
        register(int)


def test_what_cannot_be_written_is_recognised_but_not_made():
    content = to_json(lambda t, s: t - s)
    assert content == to_json(lambda t, s: t - s)
    assert content != to_json(lambda t, s: t + s)
    with pytest.raises(NeedsCodeError, match="can only be made by the code of its author"):
        from_json(content)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda x: x + 1.0, lambda x: x + 2.0),
        (lambda x: jnp.sin(x), lambda x: jnp.cos(x)),
        (functools.partial(pow, 2), functools.partial(pow, 3)),
        (np.arange(3.0), np.arange(3)),
        (optax.cosine_decay_schedule(1e-3, 10), optax.cosine_decay_schedule(1e-3, 11)),
        (Kernel(1.0), Kernel(2.0)),
        ({"a": 1}, {"a": True}),
        (cinnet.MLP, cinnet.CinNet),
    ],
)
def test_fingerprints_differ_where_what_is_done_differs(one, other):
    assert fingerprint(one) == fingerprint(one)
    assert fingerprint(one) != fingerprint(other)


OWN_CODE = """
import functools
import equinox as eqx
import numpy as np
import cinnet

RATE = 2.0
TABLE = np.array([1.0, 3.0])

def power(x, order=4.0):
    return 5.0 * x**order

class Options:
    scale = 6.0

OPTIONS = Options()
OPTIONS.shift = 7.0

@functools.cache
def offset():
    return 8.0

def kernel(t, s):
    later = lambda x: RATE * x
    return later(power(t - s)) + TABLE[0] + OPTIONS.scale + OPTIONS.shift + offset()

class Halving(cinnet.Strategy):
    factor = 9.0

class Own(Halving):
    every: int = eqx.field(static=True, default=10)

    def after_step(self, run, objective, network, state):
        return objective.with_causality(kernel(self.every, 0.0)), state
"""


def fingerprints_of(code):
    made = {"__name__": "own_code"}
    exec(compile(code, "own_code.py", "exec"), made)
    return fingerprint(made["kernel"]), fingerprint(made["Own"])


@pytest.mark.parametrize("number", ["2.0", "3.0", "4.0", "5.0", "6.0", "7.0", "8.0"])
def test_an_edit_of_anything_that_is_used_is_another_fingerprint(number):
    """Numbers and functions outside of a function were once not looked at."""
    for one, other in zip(fingerprints_of(OWN_CODE), fingerprints_of(OWN_CODE.replace(number, "0.5")), strict=True):
        assert one != other


def test_an_edit_of_what_is_inherited_is_another_fingerprint_and_that_of_a_default_is_not():
    _, own = fingerprints_of(OWN_CODE)
    assert fingerprints_of(OWN_CODE.replace("9.0", "0.5"))[1] != own
    assert fingerprints_of(OWN_CODE.replace("default=10", "default=11"))[1] == own
    assert fingerprints_of("UNUSED = 1.0\n" + OWN_CODE)[1] == own


def test_a_fingerprint_is_the_same_in_another_process():
    code = "from cinnet.config.serialize import fingerprint\nprint(fingerprint(lambda x: x in {'a', 'b', 'c'}))"
    run = functools.partial(subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run().stdout == run().stdout


def test_a_changed_class_is_not_read_back():
    content = to_json(Halving(4)) | {"code": "of yesterday"}
    with pytest.raises(NeedsCodeError, match=r"code of .*Halving' has changed"):
        from_json(content)


def test_settings_with_objects_say_what_needs_code():
    settings = resolve_settings(
        cinnet.AllenCahn(),
        temporal_weight=lambda t, s: t - s,
        strategies=(cinnet.CausalWeights(10.0), Halving()),
        stages=(Stage(cinnet.Adam(learning_rate=optax.constant_schedule(1e-3)), 5),),
    )
    content = settings.to_json()
    assert [name for name, value in content.items() if needs_code(value)] == ["stages", "strategies", "temporal_weight"]
    with pytest.raises(NeedsCodeError):
        Settings.from_json(content)
    given = {name: getattr(settings, name) for name in ("temporal_weight", "stages")}
    assert Settings.from_json(content, **given) == settings
