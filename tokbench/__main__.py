"""`tokbench` and `python -m tokbench`: where a run begins, before anything that takes time is imported."""

from __future__ import annotations

from typing import NoReturn

from tokbench.cli.error_messages import errors_as_messages


def main() -> NoReturn:
    """Run the command of `sys.argv` and exit with its code."""
    with errors_as_messages():  # it may be interrupted while it is imported
        from tokbench.cli.app import main as run_command
    run_command()


if __name__ == "__main__":
    main()
