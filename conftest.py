"""Float64, no silent promotion, annotated shapes checked, and fast compilation of the many small programs."""

import functools
import os
import tempfile
from pathlib import Path

# Programs that several modules or commands need are compiled once; workers and commands inherit the folder's name.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", tempfile.mkdtemp(prefix="cinnet-tests-"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")
os.environ["XLA_FLAGS"] = " ".join(
    [
        os.environ.get("XLA_FLAGS", ""),
        "--xla_backend_optimization_level=0",
        "--xla_llvm_disable_expensive_passes=true",
        "--xla_cpu_use_fusion_emitters=false",
        "--xla_cpu_parallel_codegen_split_count=1",
    ]
)

import hypothesis
import jax
import pytest
from jaxtyping import install_import_hook

jax.config.update("jax_enable_x64", True)
install_import_hook("cinnet", "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))")

hypothesis.settings.register_profile("deterministic", derandomize=True, deadline=None, max_examples=30, database=None)
hypothesis.settings.load_profile("deterministic")


# Between a problem and its loss nothing may change precision; optax, which optimizers use, does promote.
STRICT_ROOMS = {
    *("conditions", "derivatives", "embeddings", "fields", "history", "jets", "objective", "metrics", "precision"),
    *("networks", "problems"),
}


@pytest.fixture(autouse=True)
def strict_promotion(request):
    parts = request.path.relative_to(Path(__file__).parent).parts[1:]
    rooms = {part.removeprefix("test_").removesuffix(".py") for part in parts}
    with jax.numpy_dtype_promotion("strict" if rooms & STRICT_ROOMS else "standard"):
        yield


@pytest.fixture(autouse=True, scope="module")
def bounded_compilation_cache():
    """Forget compiled programs between modules; hundreds of them would fill the memory of a small machine."""
    yield
    jax.clear_caches()


@pytest.fixture(autouse=True, scope="session")
def machine_measured_once():
    """A forecast measures the machine's speed for some seconds; here once for all of them."""
    import cinnet.training.forecast

    measured = functools.cache(cinnet.training.forecast.gemm_seconds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cinnet.training.forecast, "gemm_seconds", measured)
        yield


@pytest.fixture(autouse=True, scope="session")
def coarse_error_equation():
    """Assessments estimate errors; the problems of the tests need no fine grid for it."""
    import cinnet.assess.error_estimate

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cinnet.assess.error_estimate, "_POINTS", {0: 1, 1: 64, 2: 12, 3: 6})
        patch.setattr(cinnet.assess.error_estimate, "_BOUNDED_POINTS", {1: 25, 2: 13, 3: 5})
        patch.setattr(cinnet.assess.error_estimate, "_LEAST_STEPS", 80)
        yield
