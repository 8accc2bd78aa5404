import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from least_squares_problems import MATRIX, TARGET, Residuals, linear_residual

from cinnet.optimizers import SOAP, Adam, scale_by_soap


class PlainSoap:
    """SOAP of one matrix, from the paper's Algorithm 3, in NumPy."""

    def __init__(self, shape, refresh_every, b1=0.95, b2=0.95, epsilon=1e-8):
        self.refresh_every, self.b1, self.b2, self.epsilon = refresh_every, b1, b2, epsilon
        self.left, self.right = np.zeros((shape[0],) * 2), np.zeros((shape[1],) * 2)
        self.momentum, self.second_moment, self.count = np.zeros(shape), np.zeros(shape), 0

    def direction(self, gradient):
        self.left = self.b2 * self.left + (1 - self.b2) * gradient @ gradient.T
        self.right = self.b2 * self.right + (1 - self.b2) * gradient.T @ gradient
        if self.count == 0:
            self.q_left, self.q_right = (np.linalg.eigh(p)[1][:, ::-1] for p in (self.left, self.right))
            self.count = 1
            return np.zeros_like(gradient)
        self.momentum = self.b1 * self.momentum + (1 - self.b1) * gradient
        rotated = self.q_left.T @ gradient @ self.q_right
        self.second_moment = self.b2 * self.second_moment + (1 - self.b2) * rotated**2
        mean = self.q_left.T @ self.momentum @ self.q_right / (1 - self.b1**self.count)
        spread = np.sqrt(self.second_moment / (1 - self.b2**self.count)) + self.epsilon
        direction = self.q_left @ (mean / spread) @ self.q_right.T
        if self.count % self.refresh_every == 0:
            self.q_left, order = self.refreshed(self.left, self.q_left)
            self.second_moment = self.second_moment[order]
            self.q_right, order = self.refreshed(self.right, self.q_right)
            self.second_moment = self.second_moment[:, order]
        self.count += 1
        return direction

    @staticmethod
    def refreshed(factor, basis):
        order = np.argsort(-np.diag(basis.T @ factor @ basis))
        return np.linalg.qr(factor @ basis[:, order])[0], order


def gradients(shape, count, seed=0):
    """A mean and noise, so that both moments matter."""
    random = np.random.default_rng(seed)
    mean = random.normal(size=shape)
    return [mean + 0.5 * random.normal(size=shape) for _ in range(count)]


@pytest.mark.parametrize(("shape", "refresh_every"), [((3, 3), 1), ((3, 3), 3), ((3, 3), 10), ((4, 2), 3), ((2, 5), 3)])
def test_equals_plain_soap(shape, refresh_every):
    plain, soap = PlainSoap(shape, refresh_every), scale_by_soap(refresh_every=refresh_every)
    state = soap.init({"w": jnp.zeros(shape)})
    update = jax.jit(soap.update)
    for count, gradient in enumerate(gradients(shape, 12)):
        directions, state = update({"w": jnp.asarray(gradient)}, state)
        np.testing.assert_allclose(directions["w"], plain.direction(gradient), rtol=1e-7, atol=1e-9)
        (leaf,) = state.leaves
        if count == 0:
            for factor, basis in zip(leaf.factors, leaf.bases, strict=True):
                np.testing.assert_allclose(
                    basis.T @ factor @ basis, np.diag(np.linalg.eigvalsh(factor)[::-1]), atol=1e-12
                )
            # Where a factor is not of full rank yet its eigenvectors are not unique; both go on from the same.
            plain.q_left, plain.q_right = map(np.asarray, leaf.bases)
    for basis in leaf.bases:
        np.testing.assert_allclose(basis.T @ basis, np.eye(len(basis)), atol=1e-12)
    np.testing.assert_allclose(leaf.second_moment, plain.second_moment, rtol=1e-7)


def test_second_moment_survives_a_refresh():
    """A refresh permutes the second moment with its basis vectors and loses nothing of it."""
    shape, soap = (4, 4), scale_by_soap(refresh_every=5)
    state, sums = soap.init(jnp.zeros(shape)), []
    all_gradients = gradients(shape, 17)
    update = jax.jit(soap.update)
    for gradient in all_gradients:
        _, state = update(jnp.asarray(gradient), state)
        sums.append(float(state.leaves[0].second_moment.sum()))
    expected = 0.0
    for total, gradient in zip(sums[1:], all_gradients[1:], strict=True):
        expected = 0.95 * expected + 0.05 * np.sum(gradient**2)  # rotations keep the sum of squares
        np.testing.assert_allclose(total, expected, rtol=1e-12)


def test_bases_converge_to_the_eigenvectors():
    gradient, soap = jnp.asarray(np.random.default_rng(1).normal(size=(3, 3))), scale_by_soap(refresh_every=1)
    state, update = soap.init(gradient), jax.jit(soap.update)
    for turned in gradients((3, 3), 5):
        _, state = update(jnp.asarray(turned), state)
    for _ in range(400):
        _, state = update(gradient, state)
    (leaf,) = state.leaves
    for factor, basis in zip(leaf.factors, leaf.bases, strict=True):
        diagonal = basis.T @ factor @ basis
        np.testing.assert_allclose(diagonal, np.diag(np.diag(diagonal)), atol=1e-9 * diagonal[0, 0])
        assert np.all(np.diff(np.diag(diagonal)) <= 0)


def test_vectors_see_adam_one_step_later():
    adam, soap = Adam(0.01, decay=1.0, b1=0.95, b2=0.95), SOAP(0.01)
    x, y = jnp.zeros(5), jnp.zeros(5)
    adam_state, soap_state = adam.init(x), soap.init(y)
    adam_step, soap_step = eqx.filter_jit(adam.step), eqx.filter_jit(soap.step)
    y, soap_state, info = soap_step(Residuals(linear_residual), y, soap_state)
    assert not info.moved
    np.testing.assert_array_equal(y, x)
    for _ in range(12):
        x, adam_state, _ = adam_step(Residuals(linear_residual), x, adam_state)
        y, soap_state, info = soap_step(Residuals(linear_residual), y, soap_state)
        assert info.moved
        np.testing.assert_allclose(y, x, rtol=1e-12)


def test_long_axes_are_not_turned():
    soap = scale_by_soap(max_dimension=3)
    state = soap.init(jnp.zeros((4, 3, 1)))
    assert [basis is None for basis in state.leaves[0].bases] == [True, False, True]
    update = jax.jit(soap.update)
    for gradient in gradients((4, 3, 1), 4):
        direction, state = update(jnp.asarray(gradient), state)
        assert direction.shape == (4, 3, 1)
    adam, both = optax.scale_by_adam(0.95, 0.95), scale_by_soap(max_dimension=1)
    adam_state, state = adam.init(jnp.zeros((2, 2))), both.init(jnp.zeros((2, 2)))
    first, *later = gradients((2, 2), 5)
    update = jax.jit(both.update)
    _, state = update(jnp.asarray(first), state)
    for gradient in later:
        with jax.numpy_dtype_promotion("standard"):
            expected, adam_state = adam.update(jnp.asarray(gradient), adam_state)
        direction, state = update(jnp.asarray(gradient), state)
        np.testing.assert_allclose(direction, expected, rtol=1e-12)


def test_schedule_and_weight_decay():
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 3, 10)
    plain, decayed = SOAP(schedule), SOAP(schedule, weight_decay=0.1)
    x = jnp.asarray(np.linalg.lstsq(MATRIX, TARGET, rcond=None)[0]) + 0.1
    state, other = plain.init(x), decayed.init(x)
    plain_step, decayed_step = eqx.filter_jit(plain.step), eqx.filter_jit(decayed.step)
    for count in range(5):
        moved, state, info = plain_step(Residuals(linear_residual), x, state)
        shrunk, other, _ = decayed_step(Residuals(linear_residual), x, other)
        rate = float(schedule(count))
        np.testing.assert_allclose(info.extras["learning_rate"], rate, rtol=1e-6)
        np.testing.assert_allclose(shrunk, moved - rate * 0.1 * x, rtol=1e-6)


def test_decay_steps_bring_the_learning_rate_to_zero_along_half_a_cosine():
    optimizer = SOAP(1e-2, decay_steps=4)
    x = jnp.asarray(np.linalg.lstsq(MATRIX, TARGET, rcond=None)[0]) + 0.1
    state, step = optimizer.init(x), eqx.filter_jit(optimizer.step)
    rates = []
    for _ in range(6):
        x, state, info = step(Residuals(linear_residual), x, state)
        rates.append(float(info.extras["learning_rate"]))
    half_cosine = 1e-2 * (1 + np.cos(np.pi * np.arange(5) / 4)) / 2
    np.testing.assert_allclose(rates, [*half_cosine, 0.0], rtol=1e-6, atol=1e-12)
