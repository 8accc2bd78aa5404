"""A network together with the unknowns of an equation, so that one set of parameters holds all that is learned."""

from collections.abc import Mapping

from jaxtyping import Array, Float

from .base import Network
from .wrapper import Wrapper


class WithUnknowns(Wrapper):
    """The function is that of `inner`; `coefficients` are those of the unknowns, by name."""

    inner: Network
    coefficients: Mapping[str, Float[Array, " _"]]

    def __init__(self, inner: Network, coefficients: Mapping[str, Float[Array, " _"]]):
        self.inner, self.coefficients = inner, dict(coefficients)

    def bound(self, operator):
        """The residual with the unknowns as they are now; other operators know nothing of them."""
        bind = getattr(operator, "bind", None)
        return operator if bind is None else bind(self.coefficients)

    def __call__(self, t, x=()):
        return self.inner(t, x)

    def plan(self, times):
        return self.inner.plan(times)

    def jets(self, plan, points, space):
        return self.inner.jets(plan, points, space)
