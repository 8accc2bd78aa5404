"""`python -m cinnet` is the command `cinnet`."""

from .cli import main

main()
