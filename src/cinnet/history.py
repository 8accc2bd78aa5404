"""How features of the past are summed: temporal mesh, temporal weight A(t, s), quadrature rule (Sec. 3.2).

Every rule turns the causal integral (Eq. integral_feature) into a sum over mesh nodes,

    I(t) = integral from t0 to t of A(t, s) V(s) ds  ~  sum over k < N_s of w_k(t) V(s_k) + w_own(t) V(t),

and only w differs between rules. A time on a node belongs to the interval on its left, t in (s_m, s_(m+1)].
"""

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .domains import TimeInterval


@dataclass(frozen=True)
class TemporalMesh:
    """Increasing nodes t0 = s_0 < s_1 < ... < s_Ns = T, uniform or not."""

    nodes: tuple[float, ...]

    def __post_init__(self):
        nodes = np.asarray(self.nodes, dtype=np.float64)
        if nodes.ndim != 1 or nodes.size < 2:
            raise ValueError(f"nodes has shape {nodes.shape}; a temporal mesh needs at least two nodes in one row.")
        if not np.isfinite(nodes).all() or not (np.diff(nodes) > 0).all():
            raise ValueError(f"nodes={np.round(nodes, 6).tolist()} must be finite and strictly increasing.")
        object.__setattr__(self, "nodes", tuple(nodes.tolist()))

    @classmethod
    def uniform(cls, interval: TimeInterval, num_mesh_intervals: int) -> "TemporalMesh":
        if num_mesh_intervals < 1:
            raise ValueError(f"num_mesh_intervals={num_mesh_intervals}: a temporal mesh needs at least one interval.")
        return cls(tuple(np.linspace(interval.start, interval.end, num_mesh_intervals + 1).tolist()))

    @property
    def interval(self) -> TimeInterval:
        return TimeInterval(self.nodes[0], self.nodes[-1])

    @property
    def num_intervals(self) -> int:
        return len(self.nodes) - 1


_ABSCISSAE, _QUADRATURE_WEIGHTS = np.polynomial.legendre.leggauss(16)
_ABSCISSAE, _QUADRATURE_WEIGHTS = (_ABSCISSAE + 1) / 2, _QUADRATURE_WEIGHTS / 2


class TemporalWeight(eqx.Module):
    """The scalar weight A(t, s) of the feature at time s in the representation at time t >= s."""

    @abc.abstractmethod
    def __call__(self, t: Array, s: Array, duration: float) -> Array:
        """A(t, s) on an interval of length `duration`; element-wise in t and s."""

    def moments(self, t: Array, left: Array, length: Array, duration: float) -> tuple[Array, Array]:
        """The integrals of A(t, s) and of A(t, s) (s - left) / length over [left, left + length], s <= t.

        By 16-point Gauss-Legendre, exact for polynomials A up to degree 30.
        """
        v = jnp.asarray(_ABSCISSAE, t.dtype)
        weights = length[..., None] * jnp.asarray(_QUADRATURE_WEIGHTS, t.dtype)
        values = weights * self(t[..., None], left[..., None] + length[..., None] * v, duration)
        return values.sum(-1), (values * v).sum(-1)


class Monomial(TemporalWeight):
    """A(t, s) = ((t - s) / (T - t0))^q, any real q >= 0 (Eq. monomial_attention, q = 2; q = 0 is the ablation)."""

    exponent: float = eqx.field(static=True, default=2.0)

    def __check_init__(self):
        if not (np.isfinite(self.exponent) and self.exponent >= 0):
            raise ValueError(f"Monomial(exponent={self.exponent}): the exponent must be finite and not negative.")

    def __call__(self, t: Array, s: Array, duration: float) -> Array:
        return _power((t - s) / duration, self.exponent)

    def moments(self, t: Array, left: Array, length: Array, duration: float) -> tuple[Array, Array]:
        """Gauss-Legendre where that is exact or s is far from t; the closed form near the branch point s = t."""
        numeric = super().moments(t, left, length, duration)
        if float(self.exponent).is_integer() and self.exponent <= 28:
            return numeric
        q, far = self.exponent, t - left
        near = far - length
        primitive1 = (_power(far, q + 1) - _power(near, q + 1)) / (q + 1)
        primitive2 = (_power(far, q + 2) - _power(near, q + 2)) / (q + 2)
        safe_length = jnp.where(length > 0, length, 1.0)
        scale = duration**-q
        closed = scale * primitive1, scale * (far * primitive1 - primitive2) / safe_length
        distant = length < 0.5 * far
        return jnp.where(distant, numeric[0], closed[0]), jnp.where(distant, numeric[1], closed[1])


def _power(base: Array, exponent: float) -> Array:
    """base^exponent for base >= 0, with finite derivatives at 0 (where they are always multiplied by zero)."""
    if float(exponent).is_integer():
        return base ** int(exponent)
    positive = base > 0
    return jnp.where(positive, jnp.where(positive, base, 1.0) ** exponent, 0.0)


class Exponential(TemporalWeight):
    """A(t, s) = exp(-rate (t - s) / (T - t0)); a positive rate forgets, a negative one prefers the far past."""

    rate: float = eqx.field(static=True, default=1.0)

    def __call__(self, t: Array, s: Array, duration: float) -> Array:
        return jnp.exp(-self.rate * (t - s) / duration)


class CustomWeight(TemporalWeight):
    """Any smooth function A(t, s) of JAX arrays that a user passes."""

    function: Callable[[Array, Array], Array] = eqx.field(static=True)

    def __call__(self, t: Array, s: Array, duration: float) -> Array:
        return self.function(t, s)


class Quadrature(eqx.Module):
    """A rule for the causal integral on a fixed mesh."""

    uses_own_feature: ClassVar[bool]

    @abc.abstractmethod
    def __call__(
        self, t: Float[Array, ""], mesh: TemporalMesh, weight: TemporalWeight
    ) -> tuple[Float[Array, " intervals"], Float[Array, ""]]:
        """The weights of V(s_0), ..., V(s_(Ns-1)) and of V(t) itself; differentiable in t."""


def _covered(t: Array, mesh: TemporalMesh) -> tuple[Array, Array, Array, Array]:
    """Left ends, covered lengths r_k(t), which interval holds t, and which intervals are reached by [t0, t]."""
    nodes = jnp.asarray(mesh.nodes, t.dtype)
    left, right = nodes[:-1], nodes[1:]
    holding = jnp.minimum(jnp.sum(right < jax.lax.stop_gradient(t)), left.size - 1)
    k = jnp.arange(left.size)
    length = jnp.where(k < holding, right - left, jnp.where(k == holding, t - left, 0.0))
    return left, length, k == holding, k <= holding


class LeftRectangle(Quadrature):
    """w_k = r_k(t) A(t, s_k), with r_k(t) = clip(t - s_k, 0, s_(k+1) - s_k): the paper's rule (Eq. left_rectangle)."""

    uses_own_feature = False

    def __call__(self, t, mesh, weight):
        left, length, _, reached = _covered(t, mesh)
        past = jnp.where(reached, left, t)
        return length * weight(t, past, mesh.interval.duration), jnp.zeros_like(t)


def _integrals(t, mesh, weight):
    """The mass and the first moment of A(t, s) over every interval up to t, and which one holds t."""
    left, length, holds, reached = _covered(t, mesh)
    past = jnp.where(reached, left, t)
    mass, moment = weight.moments(jnp.broadcast_to(t, left.shape), past, length, mesh.interval.duration)
    return mass, moment, holds


class ProductConstant(Quadrature):
    """w_k = integral of A(t, s) over [s_k, min(s_(k+1), t)]: V constant on each interval, A integrated."""

    uses_own_feature = False

    def __call__(self, t, mesh, weight):
        mass, _, _ = _integrals(t, mesh, weight)
        return mass, jnp.zeros_like(t)


class ProductLinear(Quadrature):
    """V linear on each interval, A integrated; on the last, partial interval V runs from V(s_m) to V(t) itself."""

    uses_own_feature = True

    def __call__(self, t, mesh, weight):
        mass, moment, holds = _integrals(t, mesh, weight)
        to_right_node = jnp.where(holds, 0.0, moment)
        nodes = (mass - moment).at[1:].add(to_right_node[:-1])
        return nodes, jnp.sum(jnp.where(holds, moment, 0.0))


QUADRATURES: dict[str, Quadrature] = {
    "left-rectangle": LeftRectangle(),
    "product-constant": ProductConstant(),
    "product-linear": ProductLinear(),
}


def resolve_quadrature(rule: str | Quadrature) -> Quadrature:
    if isinstance(rule, Quadrature):
        return rule
    if rule not in QUADRATURES:
        raise ValueError(f"quadrature={rule!r} is unknown; use one of {sorted(QUADRATURES)}.")
    return QUADRATURES[rule]


def resolve_weight(weight: float | TemporalWeight | Callable[[Array, Array], Array]) -> TemporalWeight:
    """A temporal weight from an exponent q, a weight object or a function A(t, s)."""
    if isinstance(weight, TemporalWeight):
        return weight
    if callable(weight):
        return CustomWeight(weight)
    if isinstance(weight, int | float):
        return Monomial(float(weight))
    raise TypeError(f"temporal_weight={weight!r}: give an exponent q >= 0, a TemporalWeight or a function A(t, s).")


class HistoryWeights(eqx.Module):
    """The quadrature weights of many times at once, with their time derivatives."""

    nodes: Float[Array, "times intervals"]
    own: Float[Array, " times"]
    nodes_rate: Float[Array, "times intervals"]
    own_rate: Float[Array, " times"]


def history_weights(
    times: Float[Array, " times"], mesh: TemporalMesh, weight: TemporalWeight, rule: Quadrature
) -> HistoryWeights:
    """Weights of the sum for I(t) and for dI/dt at every time.

    I(t) = nodes @ V(s) + own V(t), and dI/dt = nodes_rate @ V(s) + own_rate V(t) + own V_t(t).
    """

    def with_rate(t: Array):
        return jax.jvp(lambda t: rule(t, mesh, weight), (t,), (jnp.ones_like(t),))

    (nodes, own), (nodes_rate, own_rate) = jax.vmap(with_rate)(times)
    return HistoryWeights(nodes, own, nodes_rate, own_rate)


def per_layer(setting, num_layers: int, resolve: Callable, name: str) -> tuple:
    """One setting for all layers, or a sequence with one for each."""
    if isinstance(setting, Sequence) and not isinstance(setting, str):
        if len(setting) != num_layers:
            raise ValueError(f"{name} has {len(setting)} entries for {num_layers} layers; give one, or one a layer.")
        return tuple(resolve(item) for item in setting)
    return (resolve(setting),) * num_layers
