import subprocess
import sys
import textwrap

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cinnet.jets import JetSpace
from cinnet.networks import MLP, CinNet
from cinnet.objective.objective import Objective
from cinnet.precision import resolve_dtype
from cinnet.problems import AllenCahn
from cinnet.sampling import uniform_grid

MODULES = (
    "assess conditions derivatives domains embeddings fields history jets networks objective optimizers precision "
    "problems reference sampling"
)


def run_alone(program: str) -> str:
    """Run a program in a fresh interpreter, where JAX is in its default 32-bit mode."""
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_importing_changes_no_setting_of_jax():
    program = f"""
        import importlib, jax
        before = dict(jax.config.values)
        import cinnet
        for name in "{MODULES}".split():
            importlib.import_module("cinnet." + name)
        assert dict(jax.config.values) == before
        assert not before["jax_enable_x64"]
        print("same")
    """
    assert run_alone(program) == "same\n"


def test_double_precision_in_single_precision_mode_is_refused_and_single_works():
    program = """
        import equinox as eqx, jax, numpy as np
        from cinnet.domains import Box, Periodic, TimeInterval
        from cinnet.jets import JetSpace
        from cinnet.networks import CinNet
        make = lambda dtype: CinNet(
            Box(Periodic(-1.0, 1.0)), TimeInterval(0.0, 1.0), hidden=(3,), num_mesh_intervals=3,
            harmonics=1, dtype=dtype, key=jax.random.key(0))
        try:
            make("float64")
        except ValueError as error:
            print(error)
        network = make("float32")
        plan = network.plan(np.array([0.0, 0.4, 1.0]))
        compiled = eqx.filter_jit(lambda n: n.jets(plan, jax.numpy.zeros((2, 1)), JetSpace.of([(0, 2), (1, 0)])))
        jets = compiled(network)
        print({str(value.dtype) for value in jets.values()}, jax.config.jax_enable_x64)
        with jax.enable_x64(True):
            print(make("float64").dtype)
    """
    refusal, dtypes, inside = run_alone(program).strip().splitlines()
    assert "dtype='float64'" in refusal
    assert "jax_enable_x64" in refusal
    assert dtypes == "{'float32'} False"
    assert inside == "float64"


PROBLEM = AllenCahn()
POINTS = uniform_grid(PROBLEM.interval, PROBLEM.box, 2, 3)
NETWORKS = {
    "mlp": lambda dtype: MLP(PROBLEM.box, PROBLEM.interval, hidden=(4,), dtype=dtype, key=jax.random.key(0)),
    "cinnet": lambda dtype: CinNet(
        PROBLEM.box,
        PROBLEM.interval,
        hidden=(4,),
        num_mesh_intervals=2,
        quadrature="product-linear",
        temporal_weight=1.5,
        dtype=dtype,
        key=jax.random.key(0),
    ),
}


@pytest.mark.parametrize(("kind", "dtype"), [("mlp", "float32"), ("mlp", "float64"), ("cinnet", "float32")])
def test_precision_of_the_network_is_kept_everywhere(kind, dtype):
    """Precision is known from the traced program; nothing needs to be computed."""
    network = NETWORKS[kind](dtype)
    assert network.dtype == np.dtype(dtype)
    points = jnp.asarray(POINTS.points)
    objective = Objective(PROBLEM, network, POINTS, causality=1.0)

    def everything(network):
        space = JetSpace.of([(0, 2), (1, 0)])
        each_column = jnp.asarray(np.stack([POINTS.times] * 3, axis=1))
        jets = [network.jets(network.plan(times), points, space) for times in (POINTS.times, each_column)]
        value = network(jnp.asarray(0.3), jnp.array([0.1]))
        return value, jets, objective.loss_and_gradient(network), objective.residual_vector(network)

    arrays = jax.tree.leaves(eqx.filter_eval_shape(everything, network))
    assert len(arrays) > 10
    assert {str(array.dtype) for array in arrays} == {dtype}


@pytest.mark.parametrize("dtype", ["float32", "float64", np.float32, np.dtype("float64")])
def test_supported_precisions(dtype):
    assert resolve_dtype(dtype) == np.dtype(dtype)


@pytest.mark.parametrize("dtype", ["float16", "int32", "double precision"])
def test_other_precisions_are_refused_by_name(dtype):
    with pytest.raises(ValueError, match=f"dtype='{dtype}'.*float32, float64"):
        resolve_dtype(dtype)
