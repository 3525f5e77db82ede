"""Writes docs/costs.md: what each function asks of a device. Run it after the list has changed: `python docs/costs.py`.

The list stands with the tests that hold the functions to it.
"""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "tests" / "python"))

from functions.costs import BY_SIZE, CALLS_OTHERS, COSTS, ON_THE_HOST  # noqa: E402


def page() -> str:
    """The whole of docs/costs.md."""
    lines = [
        "# Costs",
        "",
        "What a call asks of the driver, at most: kernels, copies and fills together, whatever the size of the arrays;",
        "and how many values it reads back, for each of which the host waits. Every ufunc is one launch and no wait.",
        "Where a number of launches hangs on the size (sorts, products), it is marked with *. Written by",
        "`python docs/costs.py` out of the list that the tests hold the functions to.",
        "",
        "| call | launches, copies, fills | reads |",
        "|---|---|---|",
    ]
    for name, (_, work, reads) in sorted(COSTS.items()):
        lines.append(f"| `{name}` | {work}{'*' if name in BY_SIZE else ''} | {reads or ''} |")
    lines += [
        "",
        f"On the host, as their texts say: {', '.join(f'`{n}`' for n in sorted(ON_THE_HOST))}.",
        f"As often as they are told to: {', '.join(f'`{n}`' for n in sorted(CALLS_OTHERS))}.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (FOLDER / "costs.md").write_text(page())
