"""Every loop of every ufunc of up to two inputs on a GPU, by the bytes that it must move, beside the copy rate; where
it is below 0.93 of that CuPy's and PyTorch's too, which tell what memory lets through. Prints a line of JSON for each.

`python -m tests.bench.ufuncs_gpu "exp" "power"` runs the ufuncs whose names begin so.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import ml_dtypes
import numpy as np

from tests.bench.array_gpu import wanted
from tests.bench.device import rate
from tests.bench.floor import Floor
from tests.bench.measure import Row, Sample, have

SECTION = "ufuncs-gpu"
BYTES = 1 << 28  # of the largest array
PERIOD = 1 << 20  # elements, which are laid out again and again
SHARE = 0.93
IN_TORCH = {"power": "pow", "invert": "bitwise_not", "left_shift": "bitwise_left_shift"}
UNIT = ("arcsin", "arccos", "arctanh")  # of numbers below 1


def dtype_of(letter: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if letter == "X" else letter)


def ufuncs() -> list[Any]:
    """Each once, by the name that it has itself."""
    import quern

    kind = type(quern.add)
    found = {getattr(quern, name) for name in dir(quern) if type(getattr(quern, name)) is kind}
    return sorted((ufunc for ufunc in found if ufunc.nin <= 2), key=lambda ufunc: ufunc.__name__)


@cache
def numbers(letter: str, place: int, below_one: bool) -> Any:
    """An input: positive numbers of usual sizes."""
    import quern

    random = np.random.default_rng(place)
    dtype = dtype_of(letter)
    x: np.ndarray[Any, Any]
    if dtype.kind == "b":
        x = random.random(PERIOD) < 0.5
    elif dtype.kind in "iu":
        x = random.integers(1, 7, PERIOD)
    else:
        x = random.random(PERIOD) * (0.9 if below_one else 3) + 0.05
    if dtype.kind == "c":
        x = x + 1j * (random.random(PERIOD) + 0.1)
    return quern.tile(quern.asarray(x.astype(dtype)), BYTES // dtype.itemsize // PERIOD)


def peers(name: str, inputs: list[Any], results: tuple[Any, ...]) -> dict[str, Any]:
    """What runs the same loop over the same arrays, and what waits for it, where there is such."""
    found: dict[str, Any] = {}
    if have("cupy"):
        import cupy

        theirs = getattr(cupy, name, None)
        given = [cupy.from_dlpack(array) for array in (*inputs, *results)]
        if theirs is not None:
            found["CuPy"] = (partial(theirs, *given), cupy.cuda.Device().synchronize)
    if have("torch"):
        import torch

        theirs = getattr(torch, IN_TORCH.get(name, name), None)
        if theirs is not None and len(results) == 1:
            try:
                given = [torch.from_dlpack(array) for array in (*inputs, *results)]
                call = partial(theirs, *given[:-1], out=given[-1])
                found["PyTorch"] = (call, torch.cuda.synchronize)
            except (RuntimeError, BufferError):  # it lacks the dtype
                pass
    for peer, (call, _) in list(found.items()):
        try:
            call()
        except (TypeError, RuntimeError):  # it has no such loop
            del found[peer]
    return found


def row_of(ufunc: Any, loop: str, copy: Sample | None) -> Row:
    import quern

    letters = loop.replace("->", "")
    size = BYTES // max(dtype_of(letter).itemsize for letter in letters)
    arrays = [
        numbers(letter, place, ufunc.__name__ in UNIT)[:size]
        for place, letter in enumerate(letters[: ufunc.nin])
    ]
    made = ufunc(*arrays)
    results = made if isinstance(made, tuple) else (made,)
    moved = sum(array.nbytes for array in (*arrays, *results))
    ours = rate(partial(ufunc, *arrays, out=made), quern.synchronize, moved, calls=6, repeats=3)
    row = Row(
        SECTION,
        f"{ufunc.__name__} {loop}",
        "GB/s",
        ours,
        copy,
        "copy",
        higher_is_better=True,
    )
    if copy is not None and ours.median < SHARE * copy.median:
        calls = peers(ufunc.__name__, arrays, results)
        row.peers = {name: rate(*call, moved, calls=6, repeats=3) for name, call in calls.items()}
    return row


def rows(parts: list[str]) -> Iterator[Row]:
    copy = Floor().copy_gbs()
    for ufunc in ufuncs():
        if not wanted(ufunc.__name__, parts):
            continue
        for loop in ufunc.types:
            yield row_of(ufunc, loop, copy)


def main(parts: list[str]) -> None:
    for row in rows(parts):
        print(row.as_json(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
