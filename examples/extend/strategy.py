"""A strategy of your own: the initial value counts less and less as training goes on.

python examples/extend/strategy.py
"""

import equinox as eqx

import cinnet


class SofterStart(cinnet.Strategy):
    """Every `every` steps the weight of the initial value is multiplied by `factor`, down to `least`."""

    every: int = eqx.field(static=True, default=10)
    factor: float = eqx.field(static=True, default=0.5)
    least: float = eqx.field(static=True, default=1.0)

    def after_step(self, run, objective, network, state):
        if run.step % self.every:
            return objective, state
        weight = max(self.least, self.factor * float(objective.weight("initial")))
        return objective.with_weights({"initial": weight}), state


if __name__ == "__main__":
    strategies = (cinnet.CausalWeights(10.0), SofterStart())
    stop = cinnet.stop_when(lambda view: view.record["residual"] < 1e-7)
    solution = cinnet.solve("allen-cahn", grid=(10, 64), windows=1, strategies=strategies, callbacks=(stop,), steps=40)
    print(solution.verdict)
