"""The split u_t = L u + N(t, x, u) of a problem, found from its residual alone.

The residual r is linearised about zero. A diagonal coefficient of a spatial derivative goes into the constant-
coefficient operator L, solved exactly by the exponential integrator; everything else is N. A derivative in which
r is exactly linear, with a constant coefficient, is never formed in physical space: that avoids its FFT and the
rounding noise that a high derivative amplifies.
"""

import contextlib
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from ..fields import MultiIndex, apply_operator, derivative_name
from ..problems.base import EvolutionProblem

_SAMPLES = 4096  # random states, times and points at which a coefficient must be the same to count as constant
_SAME = 1e-10  # relative difference allowed for rounding


@contextlib.contextmanager
def double_precision() -> Iterator[None]:
    """Compute in float64 on the CPU inside the block, whatever mode the caller's JAX is in (thread-local)."""
    with jax.enable_x64(True), jax.default_device(jax.local_devices(backend="cpu")[0]):
        yield


def check_supported(problem: EvolutionProblem) -> None:
    """Raise unless the problem lives on a fully periodic box of one to three dimensions."""
    box = problem.box
    if not 1 <= box.dimension <= 3 or not box.periodic:
        raise ValueError(
            f"problem {problem.name}: space={problem.space!r}, but the Fourier reference solver needs 1 to 3 axes "
            "that are all Periodic(lower, upper); compare against a solution of your own instead."
        )


class Split:
    """u_t = L u + N(t, x, u), componentwise L_i = sum over a of c_{a,i} D^a.

    `coefficients` maps a multi-index a to c_a, one number a component; `needed` lists the (multi-index,
    component) pairs that N reads.
    """

    def __init__(self, problem: EvolutionProblem):
        check_supported(problem)
        self.problem = problem
        components = len(problem.outputs)
        self.indices = tuple(sorted(problem.derivatives))
        with double_precision():
            base, samples = self._jacobians()
        # constant[i, a, j]: d r_i / d D^a u_j is the same number wherever it was sampled.
        with np.errstate(invalid="ignore"):
            constant = np.all(np.abs(samples - base) <= _SAME * np.abs(base), axis=0) & np.isfinite(base)
        self.mass = self._mass(base, constant)

        self.coefficients: dict[MultiIndex, np.ndarray] = {}
        needed = []
        for a, index in enumerate(self.indices):
            if index[0]:
                continue
            slope = np.diagonal(base[:, a, :])
            self.coefficients[index] = -np.where(np.isfinite(slope), slope, 0.0) / self.mass
            needed += [
                (index, j)
                for j in range(components)
                if not constant[:, a, j].all() or np.delete(base[:, a, j], j).any()
            ]
        self.needed = tuple(needed)
        self.nonlinear = jax.jit(self._nonlinear)

    def _jacobians(self) -> tuple[np.ndarray, np.ndarray]:
        """d r_i / d D^a u_j at zero in the middle of the domain, and at random states, times and points."""
        problem, box, interval = self.problem, self.problem.box, self.problem.interval
        shape = (len(self.indices), len(problem.outputs))

        def residual(state: Array, t: Array, x: Array) -> Array:
            derivatives = {index: state[a][None, None] for a, index in enumerate(self.indices)}
            return apply_operator(problem.residual_operator, derivatives, t[None], x[None])[0, 0]

        jacobian = jax.jit(jax.vmap(jax.jacobian(residual)))
        lower = np.array([interval.start, *(axis.lower for axis in box.axes)])
        upper = np.array([interval.end, *(axis.upper for axis in box.axes)])
        random = np.random.default_rng(0)
        # Magnitudes from 1e-2 to 10, so that neither small nor large states hide a nonlinearity.
        states = random.standard_normal((_SAMPLES, *shape)) * 10 ** random.uniform(-2, 1, (_SAMPLES, 1, 1))
        where = random.uniform(lower, upper, (_SAMPLES, len(lower)))
        states = np.concatenate([np.zeros((1, *shape)), states])
        where = np.concatenate([(lower + upper)[None] / 2, where])
        jacobians = np.asarray(jacobian(states, where[:, 0], where[:, 1:]))
        return jacobians[0], jacobians[1:]

    def _mass(self, base: np.ndarray, constant: np.ndarray) -> np.ndarray:
        """The constant diagonal m of m_i (u_i)_t; any other dependence on u_t is refused."""
        mass = np.zeros((len(base), len(base)))
        for a, index in enumerate(self.indices):
            if not index[0]:
                continue
            if any(index[1:]) and not (constant[:, a].all() and not base[:, a].any()):
                self._refuse(f"it contains {derivative_name(index)}")
            elif not any(index[1:]):
                if not constant[:, a].all():
                    self._refuse("the factor of u.t depends on the solution, on time or on space")
                mass = base[:, a]
        if not np.array_equal(mass, np.diag(np.diagonal(mass))) or not np.diagonal(mass).all():
            self._refuse(f"the matrix in front of u.t is {mass.tolist()}, which is not diagonal and invertible")
        return np.diagonal(mass)

    def _refuse(self, reason: str) -> None:
        raise ValueError(
            f"problem {self.problem.name}: the reference solver needs a residual of the form "
            f"u.t + N(u, u.x, u.xx, ..., t, x), with at most a constant factor before u.t, but {reason}; "
            "rewrite the equation solved for u.t, or compare against a solution of your own."
        )

    def symbol(self, wave_numbers: tuple[np.ndarray, ...]) -> Complex[np.ndarray, "components ..."]:
        """L_i(k) = sum over a of c_{a,i} (i k)^a for wave numbers k that broadcast against each other."""
        shape = np.broadcast_shapes(*(k.shape for k in wave_numbers))
        total = np.zeros((len(self.mass), *shape), dtype=np.complex128)
        for index, coefficient in self.coefficients.items():
            power = derivative_symbol(index[1:], wave_numbers)
            total += coefficient.reshape(-1, *(1,) * len(shape)) * power
        return total

    def _nonlinear(
        self, values: Float[Array, "needed points"], t: Float[Array, ""], points: Float[Array, "points dim"]
    ) -> Float[Array, "components points"]:
        """N at every point from the derivatives listed in `needed`; all others are set to zero."""
        known = dict(zip(self.needed, values, strict=True))
        zero = jnp.zeros(points.shape[0], dtype=points.dtype)
        components = range(len(self.mass))
        derivatives = {
            index: jnp.stack([known.get((index, j), zero) for j in components], axis=-1)[None] for index in self.indices
        }
        residual = apply_operator(self.problem.residual_operator, derivatives, t[None], points)[0].T
        linear = [
            sum((c[j] * known[index, j] for index, c in self.coefficients.items() if (index, j) in known), start=zero)
            for j in components
        ]
        return -residual / self.mass[:, None] - jnp.stack(linear)


def derivative_symbol(orders: tuple[int, ...], wave_numbers: tuple[np.ndarray, ...]) -> np.ndarray:
    """(i k)^orders; the power of i is taken exactly, so that an even derivative has an exactly real symbol."""
    power = np.array((1.0, 1j, -1.0, -1j)[sum(orders) % 4])
    for order, k in zip(orders, wave_numbers, strict=True):
        power = power * k**order
    return power
