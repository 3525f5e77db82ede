"""What warps do together: reductions, scans, votes, matches, exchanges, on blocks of any shape."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import quern

SOURCE = (Path(__file__).parent / "kernels" / "warp.cu").read_text(encoding="utf-8")


@pytest.mark.parametrize("block", [(32,), (96,), (100,), (1,), (16, 3), (7, 5, 4), (1024,)])
def test_block_sums(device, block):
    n, blocks = 10007, 5
    x = np.random.default_rng(1).standard_normal(n).astype(np.float32)
    sums = quern.zeros(blocks, np.float32)
    quern.RawKernel(SOURCE, "block_sums")((blocks,), block, (quern.asarray(x), sums, n))
    threads = int(np.prod(block))
    padded = np.zeros(-(-n // (threads * blocks)) * threads * blocks)
    padded[:n] = x
    expected = padded.reshape(-1, blocks, threads).sum(axis=(0, 2))
    np.testing.assert_allclose(sums.get(), expected, rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("int", np.int32), ("long long", np.int64), ("float", np.float32), ("double", np.float64)],
)
@pytest.mark.parametrize("columns", [1, 31, 32, 33, 200])
def test_row_scan(device, name, dtype, columns):
    rows = 13
    x = np.random.default_rng(2).integers(-1000, 1000, (rows, columns)).astype(dtype)
    module = quern.RawModule(code=SOURCE, name_expressions=[f"row_scan<{name}>"])
    y = quern.zeros(x.shape, dtype)
    module.get_function(f"row_scan<{name}>")((4,), (32, 4), (quern.asarray(x), y, rows, columns))
    np.testing.assert_array_equal(y.get(), np.cumsum(x, axis=1))


@pytest.mark.parametrize("n", [1, 32, 999, 4096])
@pytest.mark.parametrize("block", [32, 64, 256])
def test_filter(device, n, block):
    x = np.random.default_rng(n).integers(-1000, 1000, n, dtype=np.int32)
    kept, count = quern.zeros(n, np.int32), quern.zeros(1, np.int32)
    blocks = -(-n // block)
    arguments = (quern.asarray(x), kept, count, n, 100)
    quern.RawKernel(SOURCE, "filter")((blocks,), (block,), arguments)
    found = int(count.get()[0])
    assert found == np.count_nonzero(x > 100)
    np.testing.assert_array_equal(np.sort(kept.get()[:found]), np.sort(x[x > 100]))


@pytest.mark.parametrize("block", [64, 100, 1024])
def test_histogram(device, block):
    x = (np.random.default_rng(3).standard_normal(20000) * 20 + 128).clip(0, 255).astype(np.uint8)
    bins = quern.zeros(256, np.int32)
    quern.RawKernel(SOURCE, "histogram")((7,), (block,), (quern.asarray(x), bins, x.size))
    np.testing.assert_array_equal(bins.get(), np.bincount(x, minlength=256))


@pytest.mark.parametrize("rows", [1, 4])
def test_bitonic_sort(device, rows):
    x = np.random.default_rng(4).standard_normal((6, rows, 32)).astype(np.float32)
    given = quern.asarray(x)
    quern.RawKernel(SOURCE, "bitonic")((6,), (32, rows), (given,))
    np.testing.assert_array_equal(given.get(), np.sort(x, axis=-1))


@pytest.mark.parametrize("columns", [1, 15, 16, 100])
def test_half_warps_find_the_least(device, columns):
    rows = 51  # the last warp is left with one row
    x = np.random.default_rng(5).integers(-50, 50, (rows, columns)).astype(np.float64)
    least, where = quern.zeros(rows, np.float64), quern.zeros(rows, np.int32)
    arguments = (quern.asarray(x), least, where, rows, columns)
    quern.RawKernel(SOURCE, "row_argmin")((7,), (128,), arguments)
    np.testing.assert_array_equal(least.get(), x.min(axis=1))
    np.testing.assert_array_equal(where.get(), x.argmin(axis=1))


def test_facts_of_a_warp(device):
    x = np.random.default_rng(6).integers(-(2**31), 2**31, (12, 32), dtype=np.int32)
    x[3] &= ~1
    x[5] |= 1
    out = quern.zeros((12, 8), np.int32)
    quern.RawKernel(SOURCE, "facts")((4,), (96,), (quern.asarray(x), out))
    even = x % 2 == 0
    expected = [
        x.sum(axis=1, dtype=np.int32),
        x.min(axis=1),
        x.max(axis=1),
        np.bitwise_and.reduce(x, axis=1),
        np.bitwise_or.reduce(x, axis=1),
        np.bitwise_xor.reduce(x, axis=1),
        even.all(axis=1),
        even.any(axis=1),
    ]
    np.testing.assert_array_equal(out.get(), np.stack(expected, axis=1))


@pytest.mark.parametrize("name", ["__shfl_down", "__shfl"])
def test_what_gpus_no_longer_have_is_refused(device, name):
    code = f'extern "C" __global__ void k(int* x) {{ x[0] = {name}(x[1], 1); }}'
    with pytest.raises(quern.CompileError, match=name):
        quern.RawKernel(code, "k").compile()
