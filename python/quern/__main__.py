"""The command line: `python -m quern demo | doctor | cache`."""

import argparse
import sys


def main(argv: list[str] | None = None) -> int:
    """Runs one command; returns the process's exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m quern",
        description="quern: a kernel string becomes a result, on an NVIDIA GPU and on any CPU.",
    )
    commands = parser.add_subparsers(dest="command", title="commands", metavar="COMMAND")

    from quern._demo.run import add_arguments

    demo = commands.add_parser(
        "demo",
        help="three kernels on a photograph, checked against NumPy and measured",
        description="Three kernels on a photograph: compiled, run, checked against NumPy, measured.",
    )
    add_arguments(demo)

    doctor = commands.add_parser(
        "doctor",
        help="what quern found on this machine, and what to do about what it did not find",
        description="Prints Python, NumPy, devices, libraries and the cache. Exit status 1 if no kernel can run here.",
    )
    doctor.add_argument(
        "--verbose",
        action="store_true",
        help="also every place where a missing library was looked for",
    )

    cache = commands.add_parser(
        "cache",
        help="the folder of compiled kernels: its figures, its place, emptying it",
        description="The folder of compiled kernels (QUERN_CACHE_DIR, at most QUERN_CACHE_SIZE bytes).",
    )
    cache.add_argument("action", nargs="?", choices=("stats", "clear", "path"), default="stats")

    parser.add_argument("--version", action="store_true", help="print the version")
    options = parser.parse_args(argv)

    if options.version:
        import quern

        print(f"quern {quern.__version__}")
        return 0
    if options.command == "demo":
        from quern._demo.run import run

        return run(options)
    if options.command == "doctor":
        from quern._doctor import doctor as examine

        return examine(verbose=options.verbose)
    if options.command == "cache":
        from quern._doctor import cache_command

        return cache_command(options.action)
    parser.print_help()
    return 0


if __name__ == "__main__":
    sys.exit(main())
