"""Stencils: halos in shared memory in one to three dimensions, relaxation, life, lattice Boltzmann."""

from __future__ import annotations

import numpy as np
import pytest

import quern

CODE = r"""
#define RADIUS 3
__constant__ float weights[2 * RADIUS + 1] = {0.5f, -1.0f, 2.0f, 3.0f, 2.0f, -1.0f, 0.25f};

template <int Block> __global__ void line(const float* in, float* out, int n) {
    __shared__ float s[Block + 2 * RADIUS];
    int g = blockIdx.x * Block + threadIdx.x, l = threadIdx.x + RADIUS;
    s[l] = g < n ? in[g] : 0;
    if (threadIdx.x < RADIUS) {
        s[l - RADIUS] = g >= RADIUS && g - RADIUS < n ? in[g - RADIUS] : 0;
        s[l + Block] = g + Block < n ? in[g + Block] : 0;
    }
    __syncthreads();
    if (g >= n) return;
    float sum = 0;
#pragma unroll
    for (int o = -RADIUS; o <= RADIUS; ++o) sum += weights[o + RADIUS] * s[l + o];
    out[g] = sum;
}

// Heat in two dimensions, a tile with its halo, edges held.
template <class T> __global__ void heat(const T* in, T* out, int h, int w, T rate) {
    extern __shared__ __align__(8) char raw[];
    T* tile = reinterpret_cast<T*>(raw);
    const int pitch = blockDim.x + 2;
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int lx = threadIdx.x + 1, ly = threadIdx.y + 1;
    auto at = [&](int yy, int xx) { return in[min(max(yy, 0), h - 1) * w + min(max(xx, 0), w - 1)]; };
    tile[ly * pitch + lx] = at(y, x);
    if (threadIdx.x == 0) tile[ly * pitch] = at(y, x - 1);
    if (threadIdx.x == blockDim.x - 1) tile[ly * pitch + lx + 1] = at(y, x + 1);
    if (threadIdx.y == 0) tile[lx] = at(y - 1, x);
    if (threadIdx.y == blockDim.y - 1) tile[(ly + 1) * pitch + lx] = at(y + 1, x);
    __syncthreads();
    if (x >= w || y >= h) return;
    T c = tile[ly * pitch + lx];
    if (x > 0 && y > 0 && x < w - 1 && y < h - 1)
        c += rate * (tile[ly * pitch + lx - 1] + tile[ly * pitch + lx + 1] + tile[(ly - 1) * pitch + lx] +
                     tile[(ly + 1) * pitch + lx] - 4 * c);
    out[y * w + x] = c;
}

// Seven points in three dimensions: a block walks along z, planes behind and ahead in registers.
extern "C" __global__ void march(const float* in, float* out, int nx, int ny, int nz, float c0, float c1) {
    __shared__ float plane[6][10];
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, lx = threadIdx.x + 1,
        ly = threadIdx.y + 1;
    bool inside = x < nx && y < ny;
    int stride = nx * ny, i = y * nx + x;
    float behind = 0, here = inside ? in[i] : 0, ahead = inside && nz > 1 ? in[i + stride] : 0;
    for (int z = 0; z < nz; ++z) {
        __syncthreads();
        plane[ly][lx] = here;
        if (threadIdx.x == 0) plane[ly][0] = inside && x > 0 ? in[i - 1] : 0;
        if (threadIdx.x == 7) plane[ly][9] = y < ny && x + 1 < nx ? in[i + 1] : 0;
        if (threadIdx.y == 0) plane[0][lx] = inside && y > 0 ? in[i - nx] : 0;
        if (threadIdx.y == 3) plane[5][lx] = x < nx && y + 1 < ny ? in[i + nx] : 0;
        __syncthreads();
        if (inside) {
            bool right = x + 1 < nx, down = y + 1 < ny;
            out[i] = c0 * here + c1 * (behind + ahead + plane[ly][lx - 1] + (right ? plane[ly][lx + 1] : 0) +
                                       plane[ly - 1][lx] + (down ? plane[ly + 1][lx] : 0));
        }
        behind = here, here = ahead;
        i += stride;
        ahead = inside && z + 2 < nz ? in[i + stride] : 0;
    }
}

// Jacobi on a dense system; the change is summed over the grid.
extern "C" __global__ void jacobi(const double* a, const double* b, const double* x, double* next, double* change,
                                  int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    double moved = 0;
    if (row < n) {
        double sum = b[row];
        for (int c = 0; c < n; ++c)
            if (c != row) sum -= a[(size_t)row * n + c] * x[c];
        next[row] = sum / a[(size_t)row * n + row];
        moved = fabs(next[row] - x[row]);
    }
    for (int d = 16; d; d >>= 1) moved += __shfl_down_sync(~0u, moved, d);
    if (threadIdx.x % 32 == 0) atomicAdd(change, moved);
}

// Red and black cells in turn, in place.
extern "C" __global__ void red_black(double* u, const double* f, int n, int colour) {
    int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (x >= n - 1 || y >= n - 1 || ((x ^ y) & 1) != colour) return;
    u[y * n + x] =
        0.25 * (u[y * n + x - 1] + u[y * n + x + 1] + u[(y - 1) * n + x] + u[(y + 1) * n + x] + f[y * n + x]);
}

// Life on a torus, several generations of a block's own world within one launch.
extern "C" __global__ void life(unsigned char* worlds, int h, int w, int generations) {
    extern __shared__ unsigned char cells[];
    unsigned char *now = cells, *then = cells + h * w, *world = worlds + blockIdx.x * h * w;
    for (int i = threadIdx.x; i < h * w; i += blockDim.x) now[i] = world[i];
    __syncthreads();
    for (int g = 0; g < generations; ++g) {
        for (int i = threadIdx.x; i < h * w; i += blockDim.x) {
            int y = i / w, x = i % w, alive = 0;
            for (int dy = -1; dy <= 1; ++dy)
                for (int dx = -1; dx <= 1; ++dx) alive += now[(y + dy + h) % h * w + (x + dx + w) % w];
            alive -= now[i];
            then[i] = alive == 3 || (alive == 2 && now[i]);
        }
        __syncthreads();
        unsigned char* t = now;
        now = then, then = t;
    }
    for (int i = threadIdx.x; i < h * w; i += blockDim.x) world[i] = now[i];
}

// Lattice Boltzmann, nine directions, collide and stream on a torus.
struct Lattice {
    static constexpr int Q = 9;
};
__constant__ int ex[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, ey[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ double share[9] = {4. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 36, 1. / 36, 1. / 36, 1. / 36};
extern "C" __global__ void boltzmann(const double* f, double* g, int h, int w, double omega) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, cells = h * w;
    if (x >= w || y >= h) return;
    double local[Lattice::Q], density = 0, ux = 0, uy = 0;
    for (int q = 0; q < Lattice::Q; ++q) {
        local[q] = f[q * cells + y * w + x];
        density += local[q], ux += ex[q] * local[q], uy += ey[q] * local[q];
    }
    ux /= density, uy /= density;
    double square = 1.5 * (ux * ux + uy * uy);
    for (int q = 0; q < Lattice::Q; ++q) {
        double along = 3 * (ex[q] * ux + ey[q] * uy),
               rest = share[q] * density * (1 + along + 0.5 * along * along - square);
        int tx = (x + ex[q] + w) % w, ty = (y + ey[q] + h) % h;
        g[q * cells + ty * w + tx] = local[q] + omega * (rest - local[q]);
    }
}
"""


@pytest.fixture(scope="module")
def module():
    names = ["line<64>", "line<100>", "heat<float>", "heat<double>"]
    return quern.RawModule(code=CODE, name_expressions=names)


@pytest.mark.parametrize("n", [1, 64, 333])
@pytest.mark.parametrize("block", [64, 100])
def test_line(device, module, n, block):
    x = np.random.default_rng(n).normal(size=n).astype("f4")
    out = quern.zeros(n, "f4")
    module.get_function(f"line<{block}>")((-(-n // block),), (block,), (quern.asarray(x), out, n))
    weights = [0.5, -1, 2, 3, 2, -1, 0.25]
    padded = np.pad(x.astype("f8"), 3)
    wanted = sum(weights[k] * padded[k : k + n] for k in range(7))
    np.testing.assert_allclose(out.get(), wanted, atol=1e-5)


@pytest.mark.parametrize(("ctype", "dtype"), [("float", "f4"), ("double", "f8")])
@pytest.mark.parametrize("shape", [(1, 5), (20, 33), (47, 16)])
@pytest.mark.parametrize("block", [(16, 4), (7, 9)])
def test_heat(device, module, ctype, dtype, shape, block):
    (h, w), wanted = shape, np.random.default_rng(1).random(shape)
    a, b = quern.asarray(wanted.astype(dtype)), quern.zeros(shape, dtype)
    rate = np.dtype(dtype).type(0.2)
    shared = (block[0] + 2) * (block[1] + 2) * np.dtype(dtype).itemsize
    for _ in range(5):
        grid = (-(-w // block[0]), -(-h // block[1]))
        module.get_function(f"heat<{ctype}>")(grid, block, (a, b, h, w, rate), shared_mem=shared)
        a, b = b, a
        c = wanted.copy()
        inner = (
            wanted[1:-1, :-2]
            + wanted[1:-1, 2:]
            + wanted[:-2, 1:-1]
            + wanted[2:, 1:-1]
            - 4 * wanted[1:-1, 1:-1]
        )
        c[1:-1, 1:-1] += 0.2 * inner
        wanted = c
    np.testing.assert_allclose(a.get(), wanted, atol=1e-5 if dtype == "f4" else 1e-13)


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 6, 9), (4, 13, 16)])
def test_march(device, module, shape):
    nz, ny, nx = shape
    x = np.random.default_rng(2).normal(size=shape).astype("f4")
    out = quern.zeros(shape, "f4")
    args = (quern.asarray(x), out, nx, ny, nz, np.float32(0.4), np.float32(0.1))
    module.get_function("march")((-(-nx // 8), -(-ny // 4)), (8, 4), args)
    p = np.pad(x.astype("f8"), 1)
    c = slice(1, -1)
    around = p[:-2, c, c] + p[2:, c, c] + p[c, :-2, c] + p[c, 2:, c] + p[c, c, :-2] + p[c, c, 2:]
    np.testing.assert_allclose(out.get(), 0.4 * p[c, c, c] + 0.1 * around, atol=1e-6)


@pytest.mark.parametrize("n", [1, 50, 100])
def test_jacobi(device, module, n):
    random = np.random.default_rng(n)
    a, b = random.random((n, n)) + np.eye(n) * n, random.random(n)
    x, y = quern.zeros(n, "f8"), quern.zeros(n, "f8")
    given, right = quern.asarray(a), quern.asarray(b)
    for _ in range(200):
        change = quern.zeros(1, "f8")
        module.get_function("jacobi")((-(-n // 32),), (32,), (given, right, x, y, change, n))
        x, y = y, x
        if change.get()[0] < 1e-13:
            break
    np.testing.assert_allclose(x.get(), np.linalg.solve(a, b), atol=1e-11)


@pytest.mark.parametrize("n", [3, 20, 35])
def test_red_black(device, module, n):
    random = np.random.default_rng(n)
    u, f = random.random((n, n)), random.random((n, n))
    given, right = quern.asarray(u), quern.asarray(f)
    y, x = np.mgrid[:n, :n]
    inner = (x > 0) & (y > 0) & (x < n - 1) & (y < n - 1)
    for sweep in range(10):
        grid = (-(-n // 8), -(-n // 6))
        module.get_function("red_black")(grid, (8, 6), (given, right, n, sweep % 2))
        around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
        u = np.where(inner & ((x ^ y) % 2 == sweep % 2), 0.25 * (around + f), u)
    np.testing.assert_allclose(given.get(), u, atol=1e-12)


@pytest.mark.parametrize(("shape", "block"), [((1, 1), 1), ((10, 13), 32), ((21, 16), 100)])
def test_life(device, module, shape, block):
    worlds = (np.random.default_rng(3).random((4, *shape)) < 0.4).astype("u1")
    given = quern.asarray(worlds)
    h, w = shape
    module.get_function("life")((4,), (block,), (given, h, w, 9), shared_mem=2 * h * w)
    for _ in range(9):
        shifts = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx]
        alive = sum(np.roll(worlds, s, (1, 2)) for s in shifts)
        worlds = ((alive == 3) | ((alive == 2) & (worlds == 1))).astype("u1")
    np.testing.assert_array_equal(given.get(), worlds)


@pytest.mark.parametrize("shape", [(3, 3), (17, 20)])
def test_lattice_boltzmann(device, module, shape):
    h, w = shape
    ex, ey = [0, 1, 0, -1, 0, 1, -1, -1, 1], [0, 0, 1, 0, -1, 1, 1, -1, -1]
    share = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    f = share[:, None, None] * (1 + 0.1 * np.random.default_rng(4).random((9, h, w)))
    a, b = quern.asarray(f), quern.zeros((9, h, w), "f8")
    for _ in range(6):
        module.get_function("boltzmann")((-(-w // 8), -(-h // 3)), (8, 3), (a, b, h, w, 1.3))
        a, b = b, a
        density = f.sum(0)
        ux, uy = np.tensordot(ex, f, 1) / density, np.tensordot(ey, f, 1) / density
        streamed = np.empty_like(f)
        for q in range(9):
            along = 3 * (ex[q] * ux + ey[q] * uy)
            rest = share[q] * density * (1 + along + along**2 / 2 - 1.5 * (ux**2 + uy**2))
            streamed[q] = np.roll(f[q] + 1.3 * (rest - f[q]), (ey[q], ex[q]), (0, 1))
        f = streamed
    np.testing.assert_allclose(a.get(), f, rtol=1e-12)
