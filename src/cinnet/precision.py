"""Which floating-point type a computation uses. The library changes no global JAX setting."""

import jax
import numpy as np

_SUPPORTED = ("float32", "float64")


def resolve_dtype(dtype: str | np.dtype | type = "float32") -> np.dtype:
    """The NumPy dtype of a precision name, refused if JAX would silently compute in less."""
    try:
        resolved = np.dtype(dtype)
    except TypeError:
        resolved = None
    if resolved is None or resolved.name not in _SUPPORTED:
        raise ValueError(f"dtype={dtype!r} is not supported; use one of {', '.join(_SUPPORTED)}.")
    if resolved.name == "float64" and not jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
        raise ValueError(
            "dtype='float64' was asked for, but JAX is in 32-bit mode and would compute in float32. "
            "Call jax.config.update('jax_enable_x64', True) first, "
            "or work inside 'with jax.enable_x64(True):'."
        )
    return resolved
