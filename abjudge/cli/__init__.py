"""The command line: parse, wire, call, print."""


def main() -> None:
    """Run the command that the arguments name."""
    from abjudge.cli.app import run

    run()
