"""What a fused function tells of itself: its kernels, every reason for a cut with its line, and the picture."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import quern


@pytest.fixture
def x(device: quern.Device) -> quern.ndarray:
    return quern.asarray(np.random.default_rng(5).uniform(1, 2, (64, 96)).astype(np.float32))


def cuts(function: Callable[..., Any], *args: Any) -> list[tuple[str, str]]:
    """The text of the line and the reason of each cut."""
    lines = inspect.getsource(function).splitlines()
    first = function.__code__.co_firstlineno
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        told = quern.fuse(function).explain(*args)
    return [(lines[line - first].strip(), why) for line, why in told.cuts]


def sort_between(x: Any) -> Any:
    y = x * 2
    y = quern.sort(y, axis=-1)
    return y + 1


def gather_between(x: Any) -> Any:
    y = x * 2
    y = y[[5, 3, 3, 0]]
    return y + 1


def product_between(x: Any) -> Any:
    y = x * 2
    y = y @ x.T
    return y + 1


def scan_between(x: Any) -> Any:
    y = x * 2
    y = quern.cumsum(y, axis=1)
    return y + 1


@pytest.mark.parametrize("function", [sort_between, gather_between, product_between, scan_between])
def test_what_runs_by_itself(function: Any, x: quern.ndarray) -> None:
    (cut,) = cuts(function, x)
    assert cut == (inspect.getsource(function).splitlines()[2].strip(), "something runs by itself")


def test_another_shape(x: quern.ndarray) -> None:
    def halves(x: Any) -> Any:
        y = x * 2
        return y, x[:, ::2] + 1

    (cut,) = cuts(halves, x)
    assert cut == (
        "return y, x[:, ::2] + 1",
        "add is over another shape: (64, 48) after (64, 96)",
    )


def test_other_axes(x: quern.ndarray) -> None:
    def both(x: Any) -> Any:
        rows = x.sum(axis=1)
        columns = x.max(axis=0)
        return rows, columns

    assert cuts(both, x) == [("columns = x.max(axis=0)", "max reduces other axes")]


def test_memory_written_before_a_reduction(x: quern.ndarray) -> None:
    def halve(x: Any) -> Any:
        x *= 0.5
        return x.sum(axis=1)

    assert cuts(halve, x) == [("return x.sum(axis=1)", "sum reduces, and memory was written over")]


def test_memory_written_after_a_reduction(x: quern.ndarray) -> None:
    def normalise(x: Any) -> Any:
        total = x.sum(axis=1, keepdims=True)
        x /= total
        return x

    assert cuts(normalise, x) == [
        ("x /= total", "divide writes memory that reductions before it read")
    ]


def test_memory_seen_another_way(x: quern.ndarray) -> None:
    def mirror(x: Any) -> Any:
        y = x[::-1] * 2
        x += 1
        return y

    assert cuts(mirror, x) == [("x += 1", "add looks at other elements of memory that is written")]


def test_values_read(x: quern.ndarray) -> None:
    def choose(x: Any) -> Any:
        y = x * 2
        if y.sum() > 0:
            y = y + 1
        return y

    assert ("if y.sum() > 0:", "reads values") in cuts(choose, x)


def test_too_many_calls(x: quern.ndarray) -> None:
    def many(x: Any) -> Any:
        for k in range(400):
            x = x + k
        return x

    found = cuts(many, x)
    assert found
    assert set(found) == {("x = x + k", "add would be one call too many for a kernel")}


def test_another_stream(x: quern.ndarray) -> None:
    def two(x: Any) -> Any:
        y = x * 2
        with stream:
            z = x + 1
        return y, z

    if x.device.is_cpu:
        pytest.skip("a CPU has one stream")
    stream = quern.cuda.Stream()
    assert ("z = x + 1", "add runs on another device or stream") in cuts(two, x)


def test_uncut(x: quern.ndarray) -> None:
    told = quern.fuse(lambda x: quern.exp(x) * 2).explain(x)
    assert told.cuts == []
    assert (told.kernels[0]["read"], told.kernels[0]["written"]) == (x.nbytes, x.nbytes)


def test_bytes_are_counted_once(x: quern.ndarray) -> None:
    told = quern.fuse(lambda x: x[1:] + x[:-1] + x[0]).explain(x)
    assert told.kernels[0]["read"] == x.nbytes
    assert told.kernels[0]["written"] == x.nbytes - x[0].nbytes
    told = quern.fuse(lambda x: x[:, ::2] + x[:, 1::2]).explain(x)
    assert told.kernels[0]["read"] == x.nbytes


def test_cuts_are_told_in_order(x: quern.ndarray) -> None:
    text = str(quern.fuse(sort_between).explain(x)).splitlines()
    first = sort_between.__code__.co_firstlineno
    assert text[0] == "sort_between: 2 fused kernels"
    at = text.index(
        f"cut at line {first + 2}: something runs by itself  # y = quern.sort(y, axis=-1)"
    )
    starts = [k for k, line in enumerate(text) if line.startswith("kernel ")]
    assert starts[0] < at < starts[1]
    assert text[starts[0]].startswith(
        f"kernel 1: 1 call of line {first + 1}, {x.nbytes} bytes read"
    )


def test_kernels_that_wait(x: quern.ndarray, plan_as: Any) -> None:
    """On a CPU each reduction is a kernel: what waits for it says so."""

    def centre(x: Any) -> Any:
        return x - x.mean(axis=1, keepdims=True)

    with plan_as(gpu_layout=False):
        told = quern.fuse(centre).explain(x)
    if len(told.kernels) == 1:
        pytest.skip("one kernel on this device")
    assert told.waits(told.kernels[0]) == ""
    line = centre.__code__.co_firstlineno + 1
    assert told.waits(told.kernels[1]) == f"when all is there of quern_mean of line {line}"


SVG = "{http://www.w3.org/2000/svg}"


def test_picture(x: quern.ndarray) -> None:
    def scaled(signal: Any, gain: Any) -> Any:
        y = quern.exp(signal) * gain
        y = quern.sort(y, axis=-1)
        return y < 3

    told = quern.fuse(scaled).explain(x, x[0])
    assert told._repr_svg_() == told.svg()
    root = ElementTree.fromstring(told.svg())
    words = [text.text or "" for text in root.iter(f"{SVG}text")]
    for name in ("signal", "gain", "exp", "multiply", "less"):
        assert words.count(name) == 1
    assert sum(word.startswith("kernel ") for word in words) == 2
    assert sum(word.startswith("cut at line ") for word in words) == 1
    frames = [r for r in root.iter(f"{SVG}rect") if r.get("rx") == "8"]
    assert len({frame.get("fill") for frame in frames}) == 2
    wide, high = float(root.get("width", 0)), float(root.get("height", 0))
    for group in root.findall(f"{SVG}g"):
        left, top = map(float, group.get("transform", "")[len("translate(") : -1].split(","))
        for frame in group.findall(f"{SVG}rect"):
            assert left + float(frame.get("x", 0)) >= 0
            assert left + float(frame.get("x", 0)) + float(frame.get("width", 0)) <= wide
            assert top + float(frame.get("y", 0)) + float(frame.get("height", 0)) <= high


def test_picture_of_a_view_and_of_text(x: quern.ndarray) -> None:
    """Part of an argument is named after it, and what is no XML is escaped."""
    told = quern.fuse(lambda a: a[2:] < 3).explain(x)
    root = ElementTree.fromstring(told.svg())
    assert "a[...]" in {text.text for text in root.iter(f"{SVG}text")}
    told.name = "<&>"
    assert ElementTree.fromstring(told.svg()).findtext(f"{SVG}title", "").startswith("<&>: ")


def test_arguments_lie_as_they_do(device: quern.Device) -> None:
    """What is told of a view is what runs with it."""
    x = quern.arange(4000, dtype="f4").reshape(40, 100)
    for number, (view, contiguous) in enumerate(
        ((x, 2), (x[:, ::3], 1), (x[::-1, ::-1], 1), (x[:, 1:], 2))
    ):
        doubled = quern.fuse(lambda x: x * 2 + 1, kernel_name=f"lies_{number}")
        (plan,) = (line for line in doubled.source(view).splitlines() if "plan:" in line)
        assert plan.count("contiguous") == contiguous, plan
    for view in x[:0], quern.broadcast_to(x[3], (9, 100)), x.T:
        assert str(quern.fuse(lambda x: x * 2)(view)) == str(view * 2)
        quern.fuse(lambda x: x * 2).explain(view)


def test_arguments_stay(x: quern.ndarray) -> None:
    def halve(x: Any) -> Any:
        x *= 0.5
        return x

    before = x.get()
    quern.fuse(halve).explain(x)
    np.testing.assert_array_equal(x.get(), before)


def test_source_is_that_of_the_arguments(device: quern.Device, plan_as: Any) -> None:
    """Also where a kernel of other dtypes or for other rows was made since."""
    random = np.random.default_rng(0)
    functions: dict[str, Callable[[quern.ndarray], Any]] = {
        "elementwise": lambda x: x * 2 + quern.sqrt(x),
        "reduction": lambda x: (x * x + 1).sum(axis=1),
        "rows": lambda x: x / quern.sqrt((x * x).sum(axis=1, keepdims=True)),
    }
    wide = quern.asarray(random.random((300, 512), np.float32))
    given = [wide, quern.asarray(random.random((300, 512))), wide[:, :511].copy()]
    with plan_as(gpu_layout=True):
        for kind, function in functions.items():
            alone = [quern.fuse(function).source(x) for x in given]
            fused = quern.fuse(function)
            for x in (*given, *reversed(given)):
                for _ in range(3):
                    fused(x)
            assert [fused.source(x) for x in given] == alone, kind
            assert alone[0].startswith(f"// quern | {kind} | ")
            assert "float32[n]" in alone[0]
            assert "float64[n]" in alone[1]
            assert (alone[0] != alone[2]) == (kind != "elementwise")
