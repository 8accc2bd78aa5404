"""The paper's tables and figures, and some of our own, as data, and what runs them. This file is free of JAX."""

from .beyond import OWN_EXPERIMENTS
from .cells import Cell, Experiment, Target
from .paper import PAPER_EXPERIMENTS

EXPERIMENTS: dict[str, Experiment] = {one.name: one for one in (*PAPER_EXPERIMENTS, *OWN_EXPERIMENTS)}

__all__ = ["EXPERIMENTS", "Cell", "Experiment", "Target"]
