"""Transposes: straight, through tiles of shared memory, padded, of rectangles in blocks that are none."""

from __future__ import annotations

import numpy as np
import pytest

import quern

CODE = r"""
template <class T> __global__ void naive(const T* a, T* b, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < columns) b[c * rows + r] = a[r * columns + c];
}

// Tile x Tile values by Tile x Rows threads; Pad columns more against bank conflicts.
template <class T, int Tile, int Rows, int Pad>
__global__ void tiled(const T* __restrict__ a, T* __restrict__ b, int rows, int columns) {
    __shared__ T tile[Tile][Tile + Pad];
    int c = blockIdx.x * Tile + threadIdx.x, r = blockIdx.y * Tile + threadIdx.y;
    for (int j = 0; j < Tile; j += Rows)
        if (c < columns && r + j < rows) tile[threadIdx.y + j][threadIdx.x] = a[(r + j) * columns + c];
    __syncthreads();
    c = blockIdx.y * Tile + threadIdx.x, r = blockIdx.x * Tile + threadIdx.y;
    for (int j = 0; j < Tile; j += Rows)
        if (c < rows && r + j < columns) b[(r + j) * rows + c] = tile[threadIdx.x][threadIdx.y + j];
}

// 32 x 32 bits of a warp: five exchanges.
extern "C" __global__ void bits(unsigned* words) {
    unsigned x = words[threadIdx.x], mask = 0x0000ffff;
    for (int d = 16; d; d >>= 1, mask ^= mask << d) {
        unsigned y = __shfl_xor_sync(~0u, x, d);
        x = threadIdx.x & d ? (x & ~mask) | ((y >> d) & mask) : (x & mask) | ((y << d) & ~mask);
    }
    words[threadIdx.x] = x;
}
"""
TILES = ("32, 8, 1", "16, 16, 0", "16, 4, 1")
TYPES = {"float": "f4", "double": "f8", "short": "i2", "unsigned char": "u1"}


@pytest.fixture(scope="module")
def module():
    names = [f"naive<{t}>" for t in TYPES] + [f"tiled<{t}, {s}>" for t in TYPES for s in TILES]
    return quern.RawModule(code=CODE, name_expressions=names)


@pytest.mark.parametrize("ctype", TYPES)
@pytest.mark.parametrize("shape", [(1, 1), (32, 32), (37, 65), (3, 100), (129, 7)])
def test_transposes(device, module, ctype, shape):
    rows, columns = shape
    a = np.random.default_rng(rows).integers(0, 200, shape).astype(TYPES[ctype])
    given = quern.asarray(a)
    out = quern.zeros((columns, rows), a.dtype)
    grid = (-(-columns // 8), -(-rows // 4))
    module.get_function(f"naive<{ctype}>")(grid, (8, 4), (given, out, rows, columns))
    np.testing.assert_array_equal(out.get(), a.T)
    for sizes in TILES:
        tile, lines, _ = map(int, sizes.split(","))
        out = quern.zeros((columns, rows), a.dtype)
        grid = (-(-columns // tile), -(-rows // tile))
        module.get_function(f"tiled<{ctype}, {sizes}>")(
            grid, (tile, lines), (given, out, rows, columns)
        )
        np.testing.assert_array_equal(out.get(), a.T)


def test_bits(device, module):
    words = np.random.default_rng(1).integers(0, 2**32, 32).astype("u4")
    given = quern.asarray(words)
    module.get_function("bits")((1,), (32,), (given,))

    def matrix(w):
        return (w[:, None] >> np.arange(32, dtype="u4")) & 1

    np.testing.assert_array_equal(matrix(given.get()), matrix(words).T)
