"""`python -m jingwei` and the `jingwei` command: asks for the `cli` extra where it is missing."""

import sys


def main() -> int:
    """Run the command line; the exit codes are listed in docs/cli.md."""
    try:
        from jingwei.cli.app import run
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.split(".")[0] not in {"typer", "rich", "tqdm"}:
            raise
        sys.stderr.write(f"jingwei: the command line needs {missing.name}: install jingwei[cli]\n")
        return 2
    return run()


if __name__ == "__main__":
    sys.exit(main())
