"""Array functions on a GPU beside CuPy and PyTorch, in milliseconds, and ufuncs by the bytes that they must move.
Prints a line of JSON for each.

`python -m tests.bench.array_gpu "take" "exp"` runs the rows whose names begin so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.bench.device import rate
from tests.bench.floor import Floor
from tests.bench.measure import Row, Sample, alternate, call_us, have

SECTION = "array-gpu"
# Short rounds, and many: for a tenth of a second now and then the memory gives 0.5 to 3 % less, and what came off
# with few of those moments would look faster than it is (2^26 floats of 2^27: 1.696 or 1.713 ms, CuPy 1.700 or 1.750).
ROUNDS = 15
N, HALF, SMALL = 1 << 27, 1 << 26, 1 << 22
SIDE = 1 << 13

# Name, expression of `np`, and PyTorch's of `torch`, over `a` and `b`, N floats, `h`, half of them, `m`, a mask of them
# half true, `p`, HALF random positions, `k`, HALF ints below 100, `K`, below 10^5, `s`, `t`, SMALL floats, `S`, sorted,
# `M`, a square of SIDE, `R`, a thousand of its rows, `Q`, the first 100 floats of each.
FUNCTIONS = """
cumsum of 2^27 | np.cumsum(a) | torch.cumsum(a, 0)
sort of 2^27 | np.sort(a) | torch.sort(a)
argsort of 2^27 | np.argsort(a) | torch.argsort(a)
take of 2^26 from 2^27 | a[p] | a[p]
take function of 2^26 | np.take(a, p) | torch.take(a, p)
mask of 2^27 | a[m] | a[m]
where of 2^27 | np.where(m, a, b) | torch.where(m, a, b)
nonzero of 2^27 | np.nonzero(m) | torch.nonzero(m)
unique of 2^22 | np.unique(s) | torch.unique(s)
bincount of 2^26, 100 | np.bincount(k) | torch.bincount(k)
bincount of 2^26, 10^5 | np.bincount(K) | torch.bincount(K)
histogram of 2^26 | np.histogram(h, 100, range=(0.0, 1.0)) | torch.histc(h, 100, 0.0, 1.0)
searchsorted of 2^22 | np.searchsorted(S, t) | torch.searchsorted(S, t)
concatenate of 2 x 2^26 | np.concatenate((h, h)) | torch.cat((h, h))
concatenate of 1000 x 8192 | np.concatenate(R) | torch.cat(R)
concatenate of 1000 x 100 | np.concatenate(Q) | torch.cat(Q)
stack of 1000 x 100, last axis | np.stack(Q, -1) | torch.stack(Q, -1)
stack of 2 x 2^26, last axis | np.stack((h, h), -1) | torch.stack((h, h), -1)
repeat of 2^26 | np.repeat(h, 2) | torch.repeat_interleave(h, 2)
tile of 2^26 | np.tile(h, 2) | torch.tile(h, (2,))
pad of 2^26, constant | np.pad(M, 5) | torch.nn.functional.pad(M, (5, 5, 5, 5))
pad of 2^26, reflect | np.pad(M, 5, "reflect") | torch.nn.functional.pad(M[None], (5, 5, 5, 5), "reflect")
roll of 2^26 | np.roll(M, 3, 1) | torch.roll(M, 3, 1)
flip of 2^26 | np.flip(M).copy() | torch.flip(M, (0, 1))
transposed copy of 2^26 | np.ascontiguousarray(M.T) | M.T.contiguous()
transposed copy of 2^26 float16 | np.ascontiguousarray(Mh.T) | Mh.T.contiguous()
transposed copy of 2^26 int8 | np.ascontiguousarray(Mb.T) | Mb.T.contiguous()
triu of 2^26 | np.triu(M) | torch.triu(M)
diff of 2^26 | np.diff(h) | torch.diff(h)
take_along_axis of 2^26 | np.take_along_axis(M, MI, 1) | torch.take_along_dim(M, MI, 1)
median of 2^26 | np.median(h) | torch.median(h)
"""

# Ufuncs by their classes, and on which dtypes.
FLOATS = ("float16", "float32", "float64")
UFUNCS = {
    "add": ("int8", "int32", "int64", *FLOATS, "complex64"),
    "multiply": ("int8", *FLOATS, "complex64"),
    "divide": FLOATS,
    "floor_divide": ("int8", "int32", "float32"),
    "maximum": ("int8", "int32", *FLOATS),
    "equal": ("int8", "int32", *FLOATS),
    "logical_and": ("bool", "float32"),
    "bitwise_xor": ("bool", "int32"),
    "negative": ("int8", *FLOATS, "complex64"),
    "isnan": FLOATS,
    "sqrt": FLOATS,
    "exp": FLOATS,
    "log": FLOATS,
    "sin": FLOATS,
    "tanh": FLOATS,
    "power": FLOATS,
    "arctan2": FLOATS,
    "floor": FLOATS,
}


def wanted(name: str, parts: list[str]) -> bool:
    return not parts or any(name.startswith(part) for part in parts)


def inputs() -> dict[str, Any]:
    """NumPy arrays by the names that expressions use."""
    random = np.random.default_rng(0)
    floats = random.random(N, np.float32)
    square = floats[: SIDE * SIDE].reshape(SIDE, SIDE)
    small = random.standard_normal(SMALL, np.float32)
    return {
        "a": floats,
        "b": floats[::-1].copy(),
        "h": floats[:HALF],
        "m": floats < 0.5,
        "p": (floats[:HALF].astype(np.float64) * N).astype(np.int64),
        "k": (floats[:HALF] * 100).astype(np.int64),
        "K": (floats[:HALF] * 100_000).astype(np.int64),
        "s": small,
        "t": small[::-1].copy(),
        "S": np.sort(small),
        "M": square,
        "Mh": square.astype(np.float16),
        "Mb": (square * 100).astype(np.int8),
        "MI": (square * SIDE).astype(np.int64),
    }


def time_ms(call: Callable[[], object], wait: Callable[[], object]) -> Sample:
    return call_us(call, wait, calls=3, repeats=3).map(lambda us: us / 1e3)


def evaluated(text: str, names: dict[str, Any]) -> Callable[[], object]:
    return eval(f"lambda: {text}", names)


Names = dict[str, Any]
Peers = dict[str, tuple[Names, Callable[[], object]]]


def names_of(host: dict[str, Any]) -> tuple[Names, Peers]:
    """What expressions may name, here and at each peer, which has views of the same memory; and what waits for it."""
    import quern

    arrays = {name: quern.asarray(array) for name, array in host.items()}
    peers: Peers = {}
    if have("cupy"):
        import cupy

        views = {name: cupy.from_dlpack(array) for name, array in arrays.items()}
        peers["CuPy"] = (views | {"np": cupy}, cupy.cuda.Device().synchronize)
    if have("torch"):
        import torch

        tensors = {name: torch.from_dlpack(array) for name, array in arrays.items()}
        peers["PyTorch"] = (tensors | {"torch": torch}, torch.cuda.synchronize)
    return arrays | {"np": quern}, peers


def compared(line: str, ours: Names, peers: Peers, rounds: int, prefix: str = "") -> Row:
    """A line as FUNCTIONS has them, by whoever can do it."""
    import quern

    name, text, torch_text = (part.strip() for part in line.split("|"))
    name = prefix + name
    calls = {"ours": partial(time_ms, evaluated(text, ours), quern.synchronize)}
    for peer, (names, wait) in peers.items():
        calls[peer] = partial(
            time_ms, evaluated(torch_text if peer == "PyTorch" else text, names), wait
        )
    for peer in list(calls):
        try:
            calls[peer]()
        except Exception as error:
            print(f"{name}: {peer}: {error}", file=sys.stderr)
            del calls[peer]
    if "ours" not in calls:
        return Row(SECTION, name, "ms", skipped="it raised")
    samples = alternate(calls, rounds)
    row = Row(SECTION, name, "ms", samples.pop("ours"), demand="<= the better peer", limit=1.0)
    row.peers = samples
    if samples:
        row.reference_name = min(samples, key=lambda peer: samples[peer].median)
        row.reference = samples[row.reference_name]
    return row


def function_rows(parts: list[str]) -> Iterator[Row]:
    ours, peers = names_of(inputs())
    for names in (ours, *(names for names, _ in peers.values())):
        names["R"] = [names["M"][k] for k in range(1000)]
        names["Q"] = [row[:100] for row in names["R"]]
    for line in FUNCTIONS.strip().splitlines():
        if wanted(line, parts):
            yield compared(line, ours, peers, ROUNDS)


def ufunc_rows(parts: list[str]) -> Iterator[Row]:
    """GB/s beside the rate of a device copy."""
    import quern

    copy = Floor().copy_gbs()
    for name, dtypes in UFUNCS.items():
        function = getattr(quern, name)
        for dtype in dtypes:
            what = f"{name} of {dtype}"
            if not wanted(what, parts):
                continue
            size = (1 << 29) // np.dtype(dtype).itemsize
            x = quern.full(size, 3, dtype)
            args = (x,) * function.nin
            out = function(*args)
            moved = function.nin * x.nbytes + out.nbytes
            if function.nin == 2:
                args = (x, quern.full(size, 2, dtype))
            call = partial(function, *args, out=out)
            yield Row(
                SECTION,
                what,
                "GB/s",
                rate(call, quern.synchronize, moved),
                copy,
                "copy",
                ">= 0.93x the copy rate",
                0.93,
                higher_is_better=True,
            )


def main(parts: list[str]) -> None:
    for rows in (ufunc_rows, function_rows):
        for row in rows(parts):
            print(row.as_json(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
