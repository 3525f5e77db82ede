"""Runs the sections, each in a process of its own, prints the table and writes JSON."""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

from tests.bench.measure import Row, Sample, row_from_json

# section -> its device, and what else its process finds in the environment
ONE_THREAD = {
    "QUERN_NUM_THREADS": "1",
    "POCL_MAX_PTHREAD_COUNT": "1",
    "OPENBLAS_NUM_THREADS": "1",  # its waiting threads would count as CPU time
}
SECTIONS: dict[str, tuple[str, dict[str, str]]] = {
    "cpu": ("cpu", {}),
    "raw": ("cpu", ONE_THREAD),
    "compile": ("cpu", ONE_THREAD),
    "reductions-cpu": ("cpu", ONE_THREAD),
    "array-cpu": ("cpu", {}),
    "fuse-cpu": ("cpu", {}),
    "device": ("cuda", {}),
    "reductions": ("cuda", {}),
    "array-gpu": ("cuda", {}),
    "fuse-gpu": ("cuda", {}),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--section", choices=(*SECTIONS, "all"), default="all")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), metavar="DIR")
    options = parser.parse_args()

    names = devices()
    rows: list[Row] = []
    for section, (device, environment) in SECTIONS.items():
        if options.section not in (section, "all"):
            continue
        if not any(name.startswith(device) for name in names):
            rows.append(
                Row(
                    section,
                    "all rows",
                    "",
                    skipped=f"no {device} device here (python -m quern doctor)",
                )
            )
            continue
        rows += run_section(section, dict(os.environ, QUERN_DEVICE=device, **environment))
    print(render(rows))
    path = write_json(options.out, rows, names)
    print(f"\nmedian [first quartile, third quartile]; written to {path}")
    return 0


def devices() -> list[str]:
    """Names of the devices, asked in a process of its own: this one stays free of drivers."""
    done = subprocess.run(
        [sys.executable, "-c", "from quern import _core; print(*_core.device_names())"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"quern does not import:\n{done.stderr}")
    return done.stdout.split()


def run_section(section: str, environment: dict[str, str]) -> list[Row]:
    """A section's rows, as far as it came; what broke is a row too."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"tests.bench.{section.replace('-', '_')}"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    rows = []
    assert process.stdout
    for line in process.stdout:
        row = row_from_json(line)
        rows.append(row)
        print(
            f"  {row.section}: {row.what}: {show(row.ours)} {row.unit}", file=sys.stderr, flush=True
        )
    _, complaint = process.communicate()
    if process.returncode:
        last = complaint.strip().splitlines()[-1:] or [f"status {process.returncode}"]
        print(complaint, file=sys.stderr)
        rows.append(Row(section, "the rest of this section", "", skipped=last[0]))
    return rows


def show(sample: Sample | None) -> str:
    """Median and quartiles to three digits."""
    if sample is None:
        return "-"
    return f"{digits(sample.median)} [{digits(sample.low)}, {digits(sample.high)}]"


def digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:#.3g}".rstrip(".")


def render(rows: list[Row]) -> str:
    """The table: ours, what it is held against, ratio, demand, verdict, peers."""
    lines = [("section", "what", "ours", "unit", "held against", "ratio", "demand", "", "peers")]
    for row in rows:
        if row.skipped:
            lines.append((row.section, row.what, "-", "", "", "", "", "skipped", row.skipped))
            continue
        held = f"{row.reference_name} {digits(row.reference.median)}" if row.reference else ""
        ratio = f"{row.ratio:.2f}" if row.ratio is not None else ""
        others = ", ".join(f"{name} {digits(sample.median)}" for name, sample in row.peers.items())
        others = "; ".join(part for part in (others, row.note) if part)
        lines.append(
            (
                row.section,
                row.what,
                show(row.ours),
                row.unit,
                held,
                ratio,
                row.demand,
                row.verdict,
                others,
            )
        )
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return "\n".join(
        "  ".join(f"{c:<{w}}" for c, w in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def write_json(folder: Path, rows: list[Row], names: list[str]) -> Path:
    """One file a run: the machine, the versions, every row."""
    import numpy as np

    import quern
    from quern._report import cpu_model

    folder.mkdir(parents=True, exist_ok=True)
    now = datetime.datetime.now(datetime.UTC)
    run = {
        "when": now.isoformat(timespec="seconds"),
        "quern": quern.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cpu": cpu_model(),
        "cpus": len(os.sched_getaffinity(0)),
        "devices": [f"{name} ({quern.Device(name).product})" for name in names],
        "rows": [json.loads(row.as_json()) for row in rows],
    }
    path = folder / f"{now:%Y%m%d-%H%M%S}.json"
    path.write_text(json.dumps(run, indent=1) + "\n")
    (folder / "latest.json").write_text(path.read_text())
    return path


if __name__ == "__main__":
    sys.exit(main())
