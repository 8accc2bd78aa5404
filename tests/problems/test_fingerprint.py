"""The fingerprint of a problem: another one whenever the solution may be another, the same in every process."""

import os
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_problems import FreeParticle

from cinnet import Bounded, Complex, EvolutionProblem, Observations, Periodic, Unknown, UnknownField, dirichlet
from cinnet.gridded import GridFunction
from cinnet.problems import PROBLEMS, AllenCahn
from cinnet.problems.fingerprint import fingerprint
from cinnet.unknowns import Parameter


class Rod(EvolutionProblem):
    conductivity: Parameter = 0.1

    space = Bounded(0.0, 1.0)
    boundary = (dirichlet("x", "lower"), dirichlet("x", "upper", lambda t, x: jnp.sin(t)))

    def residual(self, u, t, x):
        return u.t - self.conductivity * u.xx

    def initial(self, x):
        return 0.5 * x * (1 - x)


def changed(base=Rod, **attributes):
    return type(base.__name__, (base,), attributes)()


def observed(**changes):
    return Rod(observations=Observations(**({"t": [0.1, 0.2], "x": [0.3, 0.4], "values": [1.0, 2.0]} | changes)))


def heated_by(values):
    source = GridFunction(values, np.linspace(0, 1, len(values)))
    return changed(residual=lambda self, u, t, x: u.t - u.xx - source(x))


@pytest.fixture(autouse=True)
def _as_users_have_it():
    with jax.numpy_dtype_promotion("standard"):
        yield


OTHERS = {
    "stated": Rod(),
    "parameter": Rod(np.nextafter(0.1, 1)),
    "number in the residual": changed(residual=lambda self, u, t, x: u.t - 1.0000001 * self.conductivity * u.xx),
    "operation in the residual": changed(residual=lambda self, u, t, x: u.t + self.conductivity * u.xx),
    "derivative in the residual": changed(residual=lambda self, u, t, x: u.t - self.conductivity * u.x),
    "initial value": changed(initial=lambda self, x: 0.25 * x * (1 - x)),
    "boundary value": changed(boundary=(dirichlet("x", "lower"), dirichlet("x", "upper", lambda t, x: jnp.cos(t)))),
    "boundary constant": changed(boundary=(dirichlet("x", "lower", 1.0), Rod.boundary[1])),
    "side of the boundary": changed(boundary=(dirichlet("x", "lower"), dirichlet("x", "lower", Rod.boundary[1].value))),
    "fewer conditions": changed(boundary=Rod.boundary[:1]),
    "axis": changed(space=Bounded(0.0, 2.0)),
    "interval": changed(time=(0.0, 2.0)),
    "start": changed(time=(0.5, 1.0)),
    "unknown": Rod(Unknown(0.1)),
    "other guess": Rod(Unknown(0.2)),
    "bounds": Rod(Unknown(0.1, lower=0.0)),
    "component": changed(components=("v",)),
    "observations": observed(),
    "other values": observed(values=[1.0, 2.0000001]),
    "other places": observed(x=[0.3, 0.5]),
    "noise": observed(noise=0.1),
    "data": heated_by([0.0, 1.0, 2.0, 0.0, 1.0]),
    "other data": heated_by([0.0, 1.0, 2.0 + 1e-6, 0.0, 1.0]),
}


def test_whatever_changes_the_solution_changes_it():
    found = {name: fingerprint(problem) for name, problem in OTHERS.items()}
    assert None not in found.values()
    same = [(a, b) for a in found for b in found if a < b and found[a] == found[b]]
    assert not same
    assert fingerprint(Rod().until(2.0)) == found["interval"]


def test_periodic_and_bounded_axes_differ():
    spaces = (Periodic(0.0, 1.0), Bounded(0.0, 1.0))
    assert len({fingerprint(changed(space=space, boundary=())) for space in spaces}) == 2


def test_names_do_not_matter():
    class Wire(Rod):
        """The same under another name, with its condition made anew whenever it is asked for."""

        @property
        def boundary(self) -> Any:
            return dirichlet("x", "lower"), dirichlet("x", "upper", lambda time, place: jnp.sin(time))

        def residual(self, temperature, time, place):
            change = temperature.t
            return change - self.conductivity * temperature.xx

    assert fingerprint(Wire()) == fingerprint(Rod())


def test_precision_of_the_caller_does_not_matter():
    with jax.enable_x64(False):
        single = fingerprint(AllenCahn())
    assert single == fingerprint(AllenCahn())


def test_complex_components_and_unknown_functions_have_one():
    assert fingerprint(FreeParticle()) is not None
    assert fingerprint(changed(FreeParticle, components=(Complex("phi"),))) != fingerprint(FreeParticle())

    class Source(Rod):
        source: UnknownField = UnknownField(1.0)

        def residual(self, u, t, x):
            return u.t - u.xx - self.source(x)

    assert fingerprint(Source()) != fingerprint(Source(source=UnknownField(1.0, order=5)))


@jax.custom_vjp
def doubled(x):
    return 2 * x


doubled.defvjp(lambda x: (2 * x, None), lambda _, g: (2 * g,))


def test_functions_with_derivatives_of_their_own():
    softened = [
        changed(residual=lambda self, u, t, x, f=f: u.t - f(u.value))
        for f in (jax.nn.relu, jax.nn.relu6, doubled, lambda u: u)
    ]
    found = [fingerprint(problem) for problem in softened]
    assert None not in found
    assert len(set(found)) == len(found)


def test_what_only_an_address_names_has_none():
    def residual(self, u, t, x):
        return u.t - jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct((), x.dtype), x, vmap_method="sequential")

    assert fingerprint(changed(residual=residual)) is None


@pytest.mark.parametrize("warm", [False, True])
def test_is_the_same_in_another_process(warm, tmp_path):
    code = "from cinnet.problems import PROBLEMS\nfrom cinnet.problems.fingerprint import fingerprint\n"
    code += "import jax.numpy as jnp\njnp.where(jnp.ones(3) > 0, 1.0, 2.0)\n" if warm else ""
    code += "print(*(fingerprint(cls()) for cls in PROBLEMS.values()))"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": str(int(warm))}
    told = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout.split() == [fingerprint(cls()) for cls in PROBLEMS.values()]
