"""Float64, no silent promotion, annotated shapes checked, and fast compilation of the many small programs."""

import os

os.environ["XLA_FLAGS"] = " ".join(
    [
        os.environ.get("XLA_FLAGS", ""),
        "--xla_backend_optimization_level=0",
        "--xla_llvm_disable_expensive_passes=true",
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


@pytest.fixture(autouse=True)
def strict_promotion():
    with jax.numpy_dtype_promotion("strict"):
        yield


@pytest.fixture(autouse=True, scope="module")
def bounded_compilation_cache():
    """Forget compiled programs between modules; hundreds of them would fill the memory of a small machine."""
    yield
    jax.clear_caches()
