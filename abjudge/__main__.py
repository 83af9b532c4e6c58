"""`python -m abjudge` is `abjudge`."""

from abjudge.cli import main

main()
