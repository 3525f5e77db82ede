"""Fills the README's table of speed from measured JSON: `python -m tests.bench.readme out/bench/a.json b.json`."""

import json
import sys
from pathlib import Path

from tests.bench.__main__ import digits, show
from tests.bench.measure import row_from_json

BEGIN, END = "<!-- bench:begin -->\n", "<!-- bench:end -->"


def table(runs: list[dict]) -> str:  # type: ignore[type-arg]
    """The rows of all runs as one Markdown table; no figure that was not measured."""
    lines = [
        "| what | quern | held against | ratio | demand | peers |",
        "|---|---|---|---|---|---|",
    ]
    for run in runs:
        for data in run["rows"]:
            row = row_from_json(json.dumps(data))
            if row.skipped:
                continue
            held = f"{row.reference_name} {digits(row.reference.median)}" if row.reference else ""
            ratio = f"{row.ratio:.2f}" if row.ratio is not None else ""
            demand = f"{row.demand}: {row.verdict}" if row.verdict else row.demand
            peers = ", ".join(
                f"{name} {digits(sample.median)}" for name, sample in row.peers.items()
            )
            cells = (
                f"{row.section}: {row.what}",
                f"{show(row.ours)} {row.unit}",
                held,
                ratio,
                demand,
                peers,
            )
            lines.append("| " + " | ".join(cells) + " |")
    machines = "; ".join(
        f"{', '.join(r['devices'])}: {r['cpu']}, {r['cpus']} CPUs, {r['when'][:10]}" for r in runs
    )
    return (
        "\n".join(lines) + f"\n\nMedian [first quartile, third quartile]. Measured on {machines}.\n"
    )


def main() -> None:
    runs = [json.loads(Path(name).read_text()) for name in sys.argv[1:]]
    if not runs:
        sys.exit(__doc__)
    readme = Path(__file__).parents[2] / "README.md"
    text = readme.read_text()
    before, rest = text.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    readme.write_text(before + BEGIN + table(runs) + END + after)


if __name__ == "__main__":
    main()
