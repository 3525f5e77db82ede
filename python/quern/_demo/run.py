"""The demo's road: read a picture, run and check three kernels, measure, write PNGs, a chart and a table."""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Image = npt.NDArray[Any]


class DemoError(Exception):
    """Something a person can mend; the text says how."""


@dataclass
class Row:
    """One kernel's figures; times in milliseconds."""

    name: str
    first_ms: float
    cached_ms: float
    numpy_ms: float
    compiled: bool  # in the first call; otherwise the binary came from the disk or from memory
    worst: int  # largest difference from NumPy, in levels of 255
    allowed: int

    @property
    def passed(self) -> bool:
        return self.worst <= self.allowed

    @property
    def verdict(self) -> str:
        said = "equal" if self.worst == 0 else f"within {self.worst} of 255"
        return said if self.passed else f"WRONG: off by {self.worst} of 255"


def main(argv: list[str] | None = None) -> int:
    """Runs the demo; returns the process's exit status: 1 if a check failed, 2 if it could not run."""
    parser = argparse.ArgumentParser(
        prog="python -m quern demo",
        description="Three kernels on a photograph: compiled, run, checked against NumPy, measured.",
    )
    add_arguments(parser)
    return run(parser.parse_args(argv))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The demo's options, for its own parser and for `python -m quern`."""
    parser.add_argument(
        "--image",
        type=Path,
        metavar="FILE",
        help="a picture of your own; any format that Pillow reads",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        default=Path("out/demo"),
        help="where the PNGs go (default: out/demo)",
    )
    parser.add_argument(
        "--show-source", action="store_true", help="print the CUDA C++ generated for each kernel"
    )
    parser.add_argument(
        "--device", metavar="NAME", help="cpu, cuda, cuda:1 (default: the first GPU, else the CPU)"
    )


def run(options: argparse.Namespace) -> int:
    """The whole demo for parsed options."""
    try:
        picture, source = load_picture(options.image)
        out = writable_folder(options.out)
        rows, stages, where = measure(picture, options.device)
        written = write_pictures(out, picture, stages)
        written.append(
            write_chart(
                out, rows, f"{source}, {picture.shape[1]} x {picture.shape[0]} x 3 uint8", where
            )
        )
    except DemoError as error:
        print(f"quern demo: {error}", file=sys.stderr)
        return 2
    if options.show_source:
        show_sources()
    print_table(rows, f"{source}, {picture.shape[1]} x {picture.shape[0]} x 3 uint8", where)
    print("wrote " + ", ".join(str(path) for path in written))
    failed = [row.name for row in rows if not row.passed]
    if failed:
        print(
            f"quern demo: {', '.join(failed)} differ from NumPy by more than allowed",
            file=sys.stderr,
        )
    return 1 if failed else 0


# ---- in and out ----------------------------------------------------------------------------------


def need(module: str) -> Any:
    """Imports a module of the `demo` extra, or says how to get it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = {"PIL": "pillow"}.get(module.split(".")[0], module.split(".")[0])
        raise DemoError(
            f"{package} is missing ({error}). To get it: pip install 'quern[demo]'"
        ) from None


def load_picture(path: Path | None) -> tuple[Image, str]:
    """The user's picture, or the portrait of Grace Hopper that matplotlib brings along; as H x W x 3 uint8."""
    pil = need("PIL.Image")
    if path is None:
        cbook = need("matplotlib.cbook")
        path, source = (
            Path(cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)),
            "Grace Hopper (matplotlib)",
        )
    else:
        source = path.name
    try:
        with pil.open(path) as opened:
            picture = np.asarray(need("PIL.ImageOps").exif_transpose(opened).convert("RGB"))
    except FileNotFoundError:
        raise DemoError(f"there is no file {path}") from None
    except IsADirectoryError:
        raise DemoError(f"{path} is a folder; --image wants a picture") from None
    except PermissionError:
        raise DemoError(f"{path} may not be read by this user") from None
    except (OSError, SyntaxError, ValueError, pil.DecompressionBombError) as error:
        raise DemoError(f"{path} is not a picture that Pillow can read: {error}") from None
    return np.ascontiguousarray(picture), source


def writable_folder(path: Path) -> Path:
    """The output folder, made if need be; refused before any work is done if nothing can be written there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".quern-demo"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise DemoError(
            f"nothing can be written to {path}: {error.strerror}. Choose another with --out DIR"
        ) from None
    return path


# ---- running, checking, measuring ----------------------------------------------------------------


def milliseconds(call: Callable[[], object], at_least: int = 1, budget_ms: float = 0) -> float:
    """Median of repeated calls: at least so many, then until the budget is spent or 200 were made."""
    times: list[float] = []
    while len(times) < at_least or (sum(times) < budget_ms and len(times) < 200):
        began = time.perf_counter()
        call()
        times.append((time.perf_counter() - began) * 1e3)
    return statistics.median(times)


def measure(picture: Image, device: str | None) -> tuple[list[Row], list[tuple[str, Image]], str]:
    """Each kernel on the result of the one before: figures, pictures, and where it ran."""
    try:
        import quern
        from quern._demo import photo

        if device is not None:
            quern.Device(device).use()
        where = describe_device()
    except (ImportError, RuntimeError, ValueError) as error:
        raise DemoError(
            f"quern cannot run here: {error}\nTo see what was found: python -m quern doctor"
        ) from error

    def compiles() -> int:
        return int(quern.cache.stats()["compiles"])

    def one(
        name: str, ours: Callable[[], Any], theirs: Callable[[], Image], allowed: int
    ) -> tuple[Row, Any]:
        def finished() -> Any:
            result = ours()
            quern.synchronize()
            return result

        before = compiles()
        began = time.perf_counter()
        result = finished()
        first = (time.perf_counter() - began) * 1e3
        compiled = compiles() > before
        cached = milliseconds(finished, at_least=10, budget_ms=300)
        expected = theirs()
        worst = int(np.abs(quern.asnumpy(result).astype(np.int64) - expected).max(initial=0))
        row = Row(
            name,
            first,
            cached,
            milliseconds(theirs, at_least=3, budget_ms=600),
            compiled,
            worst,
            allowed,
        )
        return row, result

    quern.synchronize()  # the device is up before the first clock starts
    height, width, _ = picture.shape
    original = quern.asarray(picture)

    tone_row, toned = one(
        "tone curve",
        lambda: photo.tone_curve(original, 255.0, 0.6, 0.5),
        lambda: photo.numpy_tone_curve(picture, 255.0, 0.6, 0.5),
        allowed=0,
    )

    toned_here, sharp = quern.asnumpy(toned), quern.empty(picture.shape, dtype=np.uint8)
    flat = (height, width * 3)
    y = quern.asarray(np.arange(height, dtype=np.int32).reshape(height, 1))
    x = quern.asarray(np.arange(width * 3, dtype=np.int32))

    def mask() -> Any:
        photo.unsharp_mask(toned.reshape(flat), y, x, 0.8, sharp.reshape(flat))
        return sharp

    mask_row, _ = one(
        "unsharp mask",
        mask,
        lambda: photo.numpy_unsharp_mask(toned_here, 0.8),
        allowed=0,
    )

    sharp_here, blend = quern.asnumpy(sharp), quern.empty(picture.shape, dtype=np.uint8)
    real, imaginary = photo.plane(height, width)
    real_there, imaginary_there = quern.asarray(real), quern.asarray(imaginary)
    channels = [array[:, :, k] for array in (sharp, blend) for k in range(3)]

    def julia() -> Any:
        photo.julia(*channels[:3], real_there, imaginary_there, -0.8, 0.156, 200, *channels[3:])
        return blend

    julia_row, _ = one(
        "Julia set",
        julia,
        lambda: photo.numpy_julia(sharp_here, real, imaginary, -0.8, 0.156, 200),
        allowed=1,  # log2f and NumPy's log2 may round differently
    )
    stages = [
        ("tone curve", toned_here),
        ("unsharp mask", sharp_here),
        ("Julia set", quern.asnumpy(blend)),
    ]
    return [tone_row, mask_row, julia_row], stages, where


def describe_device() -> str:
    """Device and backend in words: "cpu (AMD EPYC 9654, 2 threads), clang 19.1.7"."""
    from quern._report import backend_of, device_description

    return f"{device_description()}, {backend_of()}"


def show_sources() -> None:
    """Prints the CUDA C++ that was generated for each kernel."""
    from quern._demo import photo

    for kernel in (photo.tone_curve, photo.unsharp_mask, photo.julia):
        print(f"---- {kernel.name} " + "-" * (100 - len(kernel.name)))
        print(kernel.cached_code.rstrip())
    print("-" * 106)


# ---- what a person gets to see -------------------------------------------------------------------


def duration(ms: float) -> str:
    """Three digits and a unit: "84.1 ms", "312 us"."""
    if ms >= 1000:
        return f"{ms / 1000:.3g} s"
    return f"{ms:.3g} ms" if ms >= 1 else f"{ms * 1000:.3g} us"


def print_table(rows: list[Row], what: str, where: str) -> None:
    """The figures of the chart, as text."""
    print(f"\n{what}\non {where}\n")
    lines = [("kernel", "first call", "", "cached call", "NumPy", "times NumPy", "result")]
    lines += [
        (
            row.name,
            duration(row.first_ms),
            "compiled" if row.compiled else "from cache",
            duration(row.cached_ms),
            duration(row.numpy_ms),
            f"{row.numpy_ms / row.cached_ms:.1f}x",
            row.verdict,
        )
        for row in rows
    ]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    for line in lines:
        cells = [
            f"{c:>{w}}" if 0 < k < 6 and k != 2 else f"{c:<{w}}"
            for k, (c, w) in enumerate(zip(line, widths, strict=True))
        ]
        print("  " + "  ".join(cells).rstrip())
    print()


def write_pictures(out: Path, before: Image, stages: list[tuple[str, Image]]) -> list[Path]:
    """before.png, one PNG a stage, and before-after.png with the two halves side by side."""
    pil = need("PIL.Image")
    named = [
        ("before", before),
        *(
            (f"{k}-{name.lower().replace(' ', '-')}", image)
            for k, (name, image) in enumerate(stages, 1)
        ),
    ]
    gap = np.full((before.shape[0], max(4, before.shape[1] // 64), 3), 255, np.uint8)
    named.append(("before-after", np.concatenate([before, gap, stages[-1][1]], axis=1)))
    written = []
    for name, image in named:
        path = out / f"{name}.png"
        try:
            pil.fromarray(image).save(path)
        except OSError as error:
            raise DemoError(f"{path} could not be written: {error}") from None
        written.append(path)
    return written


def write_chart(out: Path, rows: list[Row], what: str, where: str) -> Path:
    """chart.png: first call, cached call and NumPy for each kernel, on one logarithmic axis."""
    need("matplotlib")
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ink, faint = "#22262b", "#8a9199"
    parts = [
        ("first call", "first_ms", "#c9a227"),
        ("cached call", "cached_ms", "#0b6e6e"),
        ("NumPy", "numpy_ms", "#b9c0c7"),
    ]
    figure, axes = plt.subplots(figsize=(9, 4.9), dpi=160)
    low = min(getattr(row, field) for row in rows for _, field, _ in parts)
    high = max(getattr(row, field) for row in rows for _, field, _ in parts)
    left = low / 4  # room for a label inside the shortest bar
    for group, row in enumerate(rows):
        for k, (label, field, colour) in enumerate(parts):
            value, y = getattr(row, field), group * 4 + k
            axes.barh(y, value - left, left=left, height=0.82, color=colour, zorder=2)
            note = duration(value)
            if field == "first_ms":
                note += "  compiled" if row.compiled else "  from cache"
            if field == "cached_ms":
                note += f"  {row.numpy_ms / row.cached_ms:.1f} times NumPy's speed"
            axes.annotate(
                note,
                (value, y),
                (5, 0),
                textcoords="offset points",
                va="center",
                color=ink,
                fontsize=9,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
            )
            if group == 0:
                axes.annotate(
                    label,
                    (left, y),
                    (6, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=8.5,
                    color=ink if field != "cached_ms" else "white",
                    zorder=3,
                )
    axes.set_xscale("log")
    axes.set_xlim(left, high * 8)
    axes.set_ylim(10.9, -0.9)
    axes.set_yticks([1, 5, 9], [row.name for row in rows], fontsize=11, color=ink)
    axes.tick_params(axis="both", length=0, pad=8)
    axes.tick_params(axis="x", colors=faint, labelsize=8.5, pad=4, which="both")
    axes.xaxis.set_major_formatter(lambda value, _: duration(value))
    axes.xaxis.grid(True, which="major", color="#e6e9ec", linewidth=0.8, zorder=0)
    axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    for side in ("top", "right", "bottom", "left"):
        axes.spines[side].set_visible(False)
    figure.text(
        0.025,
        0.955,
        "Three kernels on a photograph: time of one call",
        fontsize=13.5,
        weight="bold",
        color=ink,
        va="center",
    )
    figure.text(0.025, 0.905, f"{what}, on {where}", fontsize=9.5, color="#59616a", va="center")
    figure.text(
        0.025,
        0.025,
        "Shorter is faster; the axis is logarithmic. Medians, but one measurement of the first call.",
        fontsize=8,
        color=faint,
    )
    figure.subplots_adjust(left=0.155, right=0.985, top=0.87, bottom=0.11)
    path = out / "chart.png"
    try:
        figure.savefig(path)
    except OSError as error:
        raise DemoError(f"{path} could not be written: {error}") from None
    finally:
        plt.close(figure)
    return path
