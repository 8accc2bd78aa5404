"""An optimizer of your own: gradient descent with momentum, in the place of Levenberg-Marquardt.

python examples/extend/optimizer.py
"""

import equinox as eqx
import jax
import jax.numpy as jnp

import cinnet


class Momentum(cinnet.Optimizer):
    rate: float = eqx.field(static=True, default=1e-3)
    memory: float = eqx.field(static=True, default=0.9)

    def init(self, model):
        return jax.tree.map(jnp.zeros_like, eqx.filter(model, eqx.is_inexact_array))

    def step(self, objective, model, state):
        value, gradient = objective.loss_and_gradient(model)
        state = jax.tree.map(lambda m, g: self.memory * m + g, state, gradient)
        model = eqx.apply_updates(model, jax.tree.map(lambda m: -self.rate * m, state))
        return model, state, cinnet.StepInfo(value.total, jnp.asarray(True), {})


if __name__ == "__main__":
    solution = cinnet.solve("allen-cahn", "pinn", grid=(10, 32), windows=1, optimizer=Momentum(1e-4), steps=500)
    print(solution, "loss", solution.result.final["loss"])
