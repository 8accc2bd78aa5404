"""The command `cinnet`. JAX is imported inside the commands, so that help is instant."""

import click

from .look import doctor, list_names, reference
from .reproduce import reproduce
from .results import compare, evaluate, report
from .solve import extend, resume, solve


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
      cinnet reproduce list                        the paper's tables and figures
    """


for _command in (list_names, solve, resume, extend, evaluate, compare, report, reproduce, reference, doctor):
    main.add_command(_command)
