"""Writes docs/reductions_speed.md and its pictures from the JSON of a run: every cell of the grid of reductions.

`python -m tests.bench.heatmap out/bench/latest.json [more.json]` takes the sections "reductions" and
"reductions-cpu" of all files, the last one of each; a section that no file has keeps what the page has.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from pathlib import Path
from typing import Any

from tests.bench.measure import Row, row_from_json
from tests.bench.reduction_grid import DTYPES, LAYOUTS, OPS

PAGE = Path("docs/reductions_speed.md")
IMAGES = Path("docs/images")
Cells = dict[tuple[str, str, str], Row]  # by operation, dtype and layout


def read(paths: list[Path], section: str) -> tuple[Cells, str]:
    """The section's cells in the last file that has it, and the machine it ran on."""
    found: Cells = {}
    machine = ""
    for path in paths:
        run = json.loads(path.read_text())
        rows = [row_from_json(json.dumps(row)) for row in run["rows"] if row["section"] == section]
        cells = {split(row.what): row for row in rows if row.ours}
        if cells:
            found, machine = cells, f"{run['devices'][0]}, {run['cpu']}, {run['when'][:10]}"
    return found, machine


def split(what: str) -> tuple[str, str, str]:
    """The name of a cell: "sum float32 (n, n) axis 0"."""
    op, dtype, layout = what.split(" ", 2)
    return op, dtype, layout


def rates(cells: Cells) -> dict[str, dict[tuple[str, str, str], float]]:
    """Median rate of each cell by library, quern first."""
    by: dict[str, dict[tuple[str, str, str], float]] = {"quern": {}}
    for key, row in cells.items():
        assert row.ours
        by["quern"][key] = row.ours.median
        if row.reference and row.reference_name == "NumPy":
            by.setdefault("NumPy", {})[key] = row.reference.median
        for name, sample in row.peers.items():
            by.setdefault(name, {})[key] = sample.median
    return by


def draw(
    path: Path, by: dict[str, dict[tuple[str, str, str], float]], unit: float, label: str
) -> None:
    """One panel for each library: layouts down, dtypes and operations across, rates in colours on one scale."""
    import matplotlib as mpl
    import numpy as np
    from matplotlib import pyplot as plt

    mpl.use("svg")
    mpl.rcParams.update(
        {"svg.hashsalt": "quern", "svg.fonttype": "none"}
    )  # the same bytes every time
    figure, panels = plt.subplots(
        len(by), 1, figsize=(15, 3.4 * len(by)), sharex=True, layout="constrained", squeeze=False
    )
    colours = mpl.colormaps["turbo_r"].with_extremes(bad="#d8d8d8")
    norm = mpl.colors.LogNorm(vmin=1e-3, vmax=1.0)
    names = [layout.name for layout in LAYOUTS]
    for panel, (library, cells) in zip(panels[:, 0], by.items(), strict=True):
        grid = np.full((len(names), len(DTYPES) * len(OPS)), math.nan)
        for (op, dtype, layout), value in cells.items():
            grid[names.index(layout), DTYPES.index(dtype) * len(OPS) + OPS.index(op)] = value / unit
        image = panel.imshow(grid, aspect="auto", cmap=colours, norm=norm, interpolation="nearest")
        panel.set_title(library, loc="left")
        panel.set_yticks(range(len(names)), names, fontsize=7)
        for k in range(1, len(DTYPES)):
            panel.axvline(k * len(OPS) - 0.5, color="white", linewidth=2)
    panels[-1, 0].set_xticks(
        range(len(DTYPES) * len(OPS)), OPS * len(DTYPES), rotation=90, fontsize=6
    )
    above = panels[0, 0].secondary_xaxis("top")
    above.set_xticks([(k + 0.5) * len(OPS) - 0.5 for k in range(len(DTYPES))], DTYPES)
    figure.colorbar(image, ax=panels[:, 0], label=label, shrink=0.6)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None})
    plt.close(figure)


def tables(by: dict[str, dict[tuple[str, str, str], float]], unit: float, peers: bool) -> list[str]:
    """One table for each dtype: quern's rate, and the best other's, as fractions of `unit`; or the ratio alone."""
    ours = by["quern"]
    lines = []
    for dtype in DTYPES:
        lines += [
            f"### {dtype}",
            "",
            "| | " + " | ".join(OPS) + " |",
            "|---" * (len(OPS) + 1) + "|",
        ]
        for layout in LAYOUTS:
            row = [layout.name]
            for op in OPS:
                key = (op, dtype, layout.name)
                if key not in ours:
                    row.append("")
                    continue
                best = max(
                    (cells[key] for name, cells in by.items() if name != "quern" and key in cells),
                    default=0.0,
                )
                if peers:
                    row.append(
                        f"{ours[key] / unit:.2f} / {best / unit:.2f}"
                        if best
                        else f"{ours[key] / unit:.2f} / –"
                    )
                else:
                    row.append(f"{ours[key] / best:.2f}" if best else "–")
            lines.append("| " + " | ".join(row) + " |")
        lines.append("")
    return lines


def gpu_part(cells: Cells, machine: str) -> list[str]:
    """The demands on the grid in words, the picture, the tables."""
    by = rates(cells)
    copy = next(
        row.reference.median
        for row in cells.values()
        if row.reference_name == "device copy" and row.reference
    )
    draw(IMAGES / "reductions_gpu.svg", by, copy, "fraction of the rate of a device copy")
    small = {layout.name for layout in LAYOUTS if layout.small}
    large = {key: rate / copy for key, rate in by["quern"].items() if key[2] not in small}
    best = {
        key: max(
            (other[key] for name, other in by.items() if name != "quern" and key in other),
            default=0.0,
        )
        for key in by["quern"]
    }
    behind = [key for key in large if best[key] and by["quern"][key] < 0.9 * best[key]]
    slow = [key for key in by["quern"] if key[2] in small and by["quern"][key] < best[key]]
    return [
        "## On a GPU",
        "",
        f"{machine}; a device copy moves {copy:.0f} GB/s. Of {len(large)} large cells the worst reaches "
        f"{min(large.values()):.2f} of it, the geometric mean is {statistics.geometric_mean(large.values()):.2f}; "
        f"{sum(rate < 0.4 for rate in large.values())} are below 0.4, {len(behind)} below 0.9x the better of CuPy and "
        f"PyTorch. Of {len(by['quern']) - len(large)} small cells {len(slow)} are slower than the better one.",
        "",
        "![Heat map of the grid on a GPU](images/reductions_gpu.svg)",
        "",
        "Each cell: quern / the better of CuPy and PyTorch, as fractions of the copy rate by the bytes that must move.",
        "",
        *tables(by, copy, peers=True),
    ]


def cpu_part(cells: Cells, machine: str) -> list[str]:
    """The same for one thread of a CPU, against NumPy."""
    by = rates(cells)
    top = max(max(other.values()) for other in by.values())
    draw(IMAGES / "reductions_cpu.svg", by, top, f"fraction of {top:.0f} GB/s")
    ratios = [by["quern"][key] / by["NumPy"][key] for key in by["quern"] if key in by["NumPy"]]
    return [
        "## On one CPU thread",
        "",
        f"{machine}. Of {len(ratios)} cells the worst reaches {min(ratios):.2f}x NumPy, the geometric mean is "
        f"{statistics.geometric_mean(ratios):.2f}x; {sum(ratio < 1 for ratio in ratios)} are below 1x, "
        f"{sum(ratio < 0.8 for ratio in ratios)} below 0.8x.",
        "",
        "![Heat map of the grid on one CPU thread](images/reductions_cpu.svg)",
        "",
        "Each cell: quern's rate over NumPy's.",
        "",
        *tables(by, top, peers=False),
    ]


def kept(heading: str) -> list[str]:
    """What the page has under a heading of the second level."""
    text = PAGE.read_text() if PAGE.exists() else ""
    at = text.find(f"## {heading}\n")
    if at < 0:
        return []
    end = text.find("\n## ", at + 1)
    return [*text[at : end if end >= 0 else None].rstrip("\n").split("\n"), ""]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.heatmap", description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    runs = parser.parse_args().runs
    parts: list[Any] = [
        "# Speed of reductions",
        "",
        "Every cell of the grid of `tests/bench/reduction_grid.py`; `python -m tests.bench --section reductions` and",
        "`--section reductions-cpu` measure it, `python -m tests.bench.heatmap` writes this page. A cliff is a",
        "red cell.",
        "",
    ]
    for section, heading, part in (
        ("reductions", "On a GPU", gpu_part),
        ("reductions-cpu", "On one CPU thread", cpu_part),
    ):
        cells, machine = read(runs, section)
        parts += part(cells, machine) if cells else kept(heading)
    PAGE.write_text("\n".join(parts).rstrip("\n") + "\n")


if __name__ == "__main__":
    main()
