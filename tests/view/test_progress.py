import io

import jax
from rich.console import Console

from cinnet.domains import Box, TimeInterval
from cinnet.networks import MLP
from cinnet.training import TrainingView
from cinnet.view.progress import describe_record, show_progress

PLAIN = {"step": 30, "seconds": 10.0, "loss": 1.25e-3, "initial": 2e-5, "residual": 1e-3, "held_out_residual": 2e-2}
RECORD = PLAIN | {"window": 1, "relative_l2_error": 0.5}
NETWORK = MLP(Box(), TimeInterval(0.0, 1.0), hidden=(2,), key=jax.random.key(0))


def test_a_record_in_one_line():
    loss, held_out = "loss 1.25e-03, initial 2e-05, residual 1e-03", "held-out residual 2.0e-02, 3 steps/s"
    assert describe_record(RECORD) == f"window 2, step 30, {loss}, error 5.00e-01, {held_out}"
    assert describe_record(PLAIN | {"window": 0}) == f"step 30, {loss}, {held_out}"


def shown(terminal):
    console = Console(file=io.StringIO(), force_terminal=terminal, width=200)
    with show_progress("allen-cahn ci-pinn", total_steps=60, console=console) as display:
        display.watch(TrainingView(30, RECORD, NETWORK, 0.5, 1.0))
        display.say("computing the reference")
    return console.file.getvalue()


def test_a_terminal_sees_how_far_and_what():
    text = shown(terminal=True)
    assert "allen-cahn ci-pinn" in text
    assert "computing the reference" in text


def test_a_file_sees_nothing():
    assert shown(terminal=False) == ""
