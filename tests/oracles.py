"""Slow, independent ways to compute what the library computes: nested autodiff, explicit loops, SciPy quadrature."""

import functools
import itertools
import operator

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import quad


def _raised(function, axis: int, order: int):
    """From a function that gives derivatives below `order` along an axis, one that also gives that order."""

    def with_next(*coordinates):
        def along(coordinate):
            return function(*coordinates[:axis], coordinate, *coordinates[axis + 1 :])

        values, tangents = jax.jvp(along, (coordinates[axis],), (jnp.ones(()),))
        last = [index for index in values if index[axis] == order - 1]
        following = {tuple(o + (a == axis) for a, o in enumerate(index)): tangents[index] for index in last}
        return values | following

    return with_next


def derivatives_of(function, coordinates, orders: tuple[int, ...]) -> dict:
    """All derivatives up to `orders` of a function of several numbers, by nested forward mode.

    Each level differentiates along one coordinate alone: what does not depend on it has no tangents to compile.
    """
    zero = (0,) * len(orders)
    tower = lambda *coordinates: {zero: function(*coordinates)}  # noqa: E731
    for axis, highest in enumerate(orders):
        for order in range(1, highest + 1):
            tower = _raised(tower, axis, order)
    return tower(*coordinates)


def all_derivatives(function, point, orders: tuple[int, ...]) -> dict:
    """The same for a function of one vector."""
    return derivatives_of(lambda *coordinates: function(jnp.stack(coordinates)), list(point), orders)


def nested_derivatives(network, times, points, highest: tuple[tuple[int, ...], ...]) -> dict:
    """Derivatives of `network(t, x)` up to each multi-index in `highest`, each [times, points, outputs]."""
    times, points = jnp.asarray(times), jnp.asarray(points)
    by_column = times if times.ndim == 2 else jnp.broadcast_to(times[:, None], (times.shape[0], points.shape[0]))

    def at_point(network, t, x):
        def value(t, *x):
            return network(t, jnp.stack(x) if x else jnp.zeros(0))

        return functools.reduce(operator.or_, [derivatives_of(value, (t, *x), orders) for orders in highest])

    over_points = jax.vmap(at_point, in_axes=(None, 0, 0))
    over_times = jax.vmap(over_points, in_axes=(None, 0, None))
    return eqx.filter_jit(over_times)(network, by_column, points)


def assert_jets_agree(result: dict, expected: dict, relative: float = 1e-10):
    for index, value in result.items():
        scale = np.abs(expected[index]).max()
        assert scale > 0, f"the oracle of {index} is zero everywhere, so nothing was tested"
        difference = np.abs(np.asarray(value) - np.asarray(expected[index])).max()
        assert difference <= relative * scale, f"{index}: {difference / scale:.1e} relative"


def paper_features(x: np.ndarray, lower: np.ndarray, upper: np.ndarray, harmonics: tuple[int, ...]) -> np.ndarray:
    """Eqs. periodic_embedding_1d and periodic_embedding_2d, as printed."""
    frequency = 2 * np.pi / (np.asarray(upper) - np.asarray(lower))
    if len(x) == 1:
        features = [1.0]
        for m in range(1, harmonics[0] + 1):
            features += [np.cos(m * frequency[0] * x[0]), np.sin(m * frequency[0] * x[0])]
        return np.array(features)
    rows = []
    for first, second in itertools.product((np.cos, np.sin), repeat=2):
        for m in range(1, harmonics[0] + 1):
            for n in range(1, harmonics[1] + 1):
                rows.append(first(m * frequency[0] * x[0]) * second(n * frequency[1] * x[1]))
    return np.array(rows)


def quadrature_weights(rule: str, weight, t: float, nodes: np.ndarray) -> tuple[np.ndarray, float]:
    """The weights of V(s_k) and of V(t), each from its definition; integrals of A by adaptive quadrature."""
    own, weights = 0.0, np.zeros(len(nodes) - 1)
    for k in range(len(nodes) - 1):
        left, right = nodes[k], min(nodes[k + 1], t)
        length = max(t - nodes[k], 0.0) - max(t - nodes[k + 1], 0.0)
        if length <= 0:
            continue

        def integrate(shape, left=left, right=right):
            return quad(lambda s: weight(t, s) * shape(s), left, right, epsabs=1e-14, epsrel=1e-13, limit=200)[0]

        if rule == "left-rectangle":
            weights[k] += length * weight(t, left)
        elif rule == "product-constant":
            weights[k] += integrate(lambda s: 1.0)
        else:
            weights[k] += integrate(lambda s, a=left, b=right: (b - s) / (b - a))
            rising = integrate(lambda s, a=left, b=right: (s - a) / (b - a))
            if t <= nodes[k + 1]:
                own += rising
            else:
                weights[k + 1] += rising
    return weights, own


def cinnet_by_loops(layers, features, nodes, rule: str, weight, activation, t: float) -> np.ndarray:
    """Eq. cinnet_layer with Eq. left_rectangle (or another rule), layer by layer and node by node, in NumPy."""
    start, duration = nodes[0], nodes[-1] - nodes[0]
    known = {}

    def output(number: int, time: float) -> np.ndarray:
        if number == 0:
            return np.concatenate([[(time - start) / duration], features])
        if (number, time) not in known:
            layer = layers[number - 1]
            local = output(number - 1, time) @ layer["W_F"] + layer["b_F"]
            integral = np.zeros_like(local)
            weights, own = quadrature_weights(rule, weight, time, nodes)
            for k in range(len(nodes) - 1):
                if weights[k] != 0:
                    value = output(number - 1, nodes[k]) @ layer["W_V"] + layer["b_V"]
                    integral += weights[k] / duration * value
            integral += own / duration * (output(number - 1, time) @ layer["W_V"] + layer["b_V"])
            gate = 1 / (1 + np.exp(-layer["eta"]))
            mixed = gate * local + (1 - gate) * integral
            known[number, time] = activation(mixed) if number < len(layers) else mixed
        return known[number, time]

    return output(len(layers), t)
