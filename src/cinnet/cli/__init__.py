"""The command `cinnet`. JAX is imported inside the commands, so that help is instant."""

from importlib.metadata import entry_points

import click

from .look import doctor, list_names, reference
from .results import compare, evaluate, report
from .solve import extend, resume, solve

PLUGINS = "cinnet.commands"  # the entry points by which other packages add commands


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="cinnet")
def main() -> None:
    """Solve evolution equations with physics-informed networks whose layers remember.

    \b
    First steps:
      cinnet list                                  what there is
      cinnet solve allen-cahn --grid 10 64         half a minute on two cores
      cinnet compare runs/*                        a table of runs
      cinnet report runs/*                         a page about them
    """


@click.command(context_settings={"ignore_unknown_options": True}, hidden=True)
@click.argument("arguments", nargs=-1)
def reproduce(arguments: tuple[str, ...]) -> None:
    """Stands for the command of the package cinnet-experiments where that is missing."""
    raise click.UsageError(
        "the paper's experiments are a package of their own; install it from a clone: pip install ./experiments"
    )


for _command in (solve, resume, extend, evaluate, compare, report, list_names, reference, doctor, reproduce):
    main.add_command(_command)
for _plugin in entry_points(group=PLUGINS):
    main.add_command(_plugin.load(), _plugin.name)
