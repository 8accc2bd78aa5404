"""Hares and lynxes: a system of ordinary differential equations. Error against a solution by SciPy.

python examples/lotka_volterra.py
cinnet solve examples/lotka_volterra.py:LotkaVolterra --grid 100 1
"""

import cinnet

GRID = (100, 1)


class LotkaVolterra(cinnet.EvolutionProblem):
    """h' = h - h l / 2, l' = h l / 4 - l on [0, 10], h(0) = 4, l(0) = 1: hares h, lynxes l, in thousands."""

    time = (0.0, 10.0)
    components = ("hares", "lynxes")

    def residual(self, hares, lynxes, t):
        met = hares * lynxes
        return hares.t - hares + met / 2, lynxes.t - met / 4 + lynxes

    def initial(self):
        return 4.0, 1.0


if __name__ == "__main__":
    print(cinnet.solve(LotkaVolterra(), grid=GRID).verdict)
