"""Images: box, Sobel, Gaussian in two passes, bilateral, median, shared halos and clamped edges."""

from __future__ import annotations

import numpy as np
import pytest

import quern

CODE = r"""
__device__ __host__ inline int clamp(int v, int low, int high) { return v < low ? low : v > high ? high : v; }

template <class T, int R> __global__ void box(const T* in, T* out, int h, int w) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    unsigned sum = 0;
    for (int dy = -R; dy <= R; ++dy)
        for (int dx = -R; dx <= R; ++dx) sum += in[clamp(y + dy, 0, h - 1) * w + clamp(x + dx, 0, w - 1)];
    out[y * w + x] = T((sum + (2 * R + 1) * (2 * R + 1) / 2) / ((2 * R + 1) * (2 * R + 1)));
}

extern "C" __global__ void sobel(const unsigned char* in, unsigned char* out, int h, int w) {
    __shared__ unsigned char tile[10][18];
    for (int i = threadIdx.y * 16 + threadIdx.x; i < 180; i += 128) {
        int ty = i / 18, tx = i % 18;
        tile[ty][tx] =
            in[clamp(blockIdx.y * 8 + ty - 1, 0, h - 1) * w + clamp((int)blockIdx.x * 16 + tx - 1, 0, w - 1)];
    }
    __syncthreads();
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, tx = threadIdx.x + 1,
        ty = threadIdx.y + 1;
    if (x >= w || y >= h) return;
    int gx = tile[ty - 1][tx + 1] + 2 * tile[ty][tx + 1] + tile[ty + 1][tx + 1] - tile[ty - 1][tx - 1] -
             2 * tile[ty][tx - 1] - tile[ty + 1][tx - 1];
    int gy = tile[ty + 1][tx - 1] + 2 * tile[ty + 1][tx] + tile[ty + 1][tx + 1] - tile[ty - 1][tx - 1] -
             2 * tile[ty - 1][tx] - tile[ty - 1][tx + 1];
    out[y * w + x] = (unsigned char)min(255, abs(gx) + abs(gy));
}

// Rows, then columns, with the taps in constant memory and a row's halo in shared memory.
#define TAPS 5
__constant__ float taps[TAPS] = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};
extern "C" __global__ void blur_rows(const float3* in, float3* out, int h, int w) {
    extern __shared__ float3 line[];
    int y = blockIdx.y, x = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = threadIdx.x; i < blockDim.x + TAPS - 1; i += blockDim.x)
        line[i] = in[y * w + clamp(blockIdx.x * blockDim.x + i - TAPS / 2, 0, w - 1)];
    __syncthreads();
    if (x >= w) return;
    float3 sum = make_float3(0.f, 0.f, 0.f);
    for (int k = 0; k < TAPS; ++k) {
        float3 v = line[threadIdx.x + k];
        sum.x += taps[k] * v.x, sum.y += taps[k] * v.y, sum.z += taps[k] * v.z;
    }
    out[y * w + x] = sum;
}
extern "C" __global__ void blur_columns(const float3* in, float3* out, int h, int w) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float3 sum = {};
    for (int k = 0; k < TAPS; ++k) {
        const float3& v = in[clamp(y + k - TAPS / 2, 0, h - 1) * w + x];
        sum.x += taps[k] * v.x, sum.y += taps[k] * v.y, sum.z += taps[k] * v.z;
    }
    out[y * w + x] = sum;
}

extern "C" __global__ void bilateral(const float* in, float* out, int h, int w, int radius, float space,
                                     float range) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float centre = in[y * w + x], sum = 0, weights = 0;
    for (int dy = -radius; dy <= radius; ++dy)
        for (int dx = -radius; dx <= radius; ++dx) {
            int yy = y + dy, xx = x + dx;
            if (yy < 0 || xx < 0 || yy >= h || xx >= w) continue;
            float v = in[yy * w + xx], d = v - centre;
            float weight = expf(-(dx * dx + dy * dy) / (2 * space * space) - d * d / (2 * range * range));
            sum += weight * v, weights += weight;
        }
    out[y * w + x] = sum / weights;
}

#define SORT2(a, b)                                                                                                  \
    {                                                                                                                \
        unsigned char low = min(a, b);                                                                               \
        b = max(a, b);                                                                                               \
        a = low;                                                                                                     \
    }
extern "C" __global__ void median(const uchar4* in, uchar4* out, int h, int w) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    uchar4 result;
    for (int channel = 0; channel < 4; ++channel) {
        unsigned char v[9];
        for (int k = 0; k < 9; ++k) {
            uchar4 p = in[clamp(y + k / 3 - 1, 0, h - 1) * w + clamp(x + k % 3 - 1, 0, w - 1)];
            v[k] = (&p.x)[channel];
        }
        for (int i = 0; i < 5; ++i)
            for (int j = i + 1; j < 9; ++j) SORT2(v[i], v[j])
        (&result.x)[channel] = v[4];
    }
    out[y * w + x] = result;
}

// Every pixel turned by an angle, bilinear, outside is zero.
extern "C" __global__ void rotate(const float* in, float* out, int h, int w, float angle) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float s = sinf(angle), c = cosf(angle), u = x - 0.5f * (w - 1), v = y - 0.5f * (h - 1);
    float sx = c * u + s * v + 0.5f * (w - 1), sy = -s * u + c * v + 0.5f * (h - 1);
    int x0 = __float2int_rd(sx), y0 = __float2int_rd(sy);
    auto at = [=](int yy, int xx) { return yy >= 0 && xx >= 0 && yy < h && xx < w ? in[yy * w + xx] : 0.f; };
    float fx = sx - x0, fy = sy - y0;
    out[y * w + x] = (1 - fy) * ((1 - fx) * at(y0, x0) + fx * at(y0, x0 + 1)) +
                     fy * ((1 - fx) * at(y0 + 1, x0) + fx * at(y0 + 1, x0 + 1));
}
"""
SHAPES = [(1, 1), (5, 3), (33, 50)]


@pytest.fixture(scope="module")
def module():
    return quern.RawModule(
        code=CODE, name_expressions=["box<unsigned char, 1>", "box<unsigned short, 3>"]
    )


def over(shape, block):
    return (-(-shape[1] // block[0]), -(-shape[0] // block[1])), block


def edges(image, radius):
    return np.pad(image, [(radius, radius)] * 2 + [(0, 0)] * (image.ndim - 2), "edge")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("ctype", "dtype", "radius"), [("unsigned char, 1", "u1", 1), ("unsigned short, 3", "u2", 3)]
)
def test_box(device, module, shape, ctype, dtype, radius):
    image = np.random.default_rng(1).integers(0, np.iinfo(dtype).max, shape).astype(dtype)
    out = quern.zeros(shape, dtype)
    module.get_function(f"box<{ctype}>")(*over(shape, (16, 4)), (quern.asarray(image), out, *shape))
    size = 2 * radius + 1
    windows = np.lib.stride_tricks.sliding_window_view(edges(image, radius), (size, size))
    wanted = (windows.sum((2, 3), dtype="u8") + size * size // 2) // (size * size)
    np.testing.assert_array_equal(out.get(), wanted)


@pytest.mark.parametrize("shape", SHAPES)
def test_sobel(device, module, shape):
    image = np.random.default_rng(2).integers(0, 256, shape).astype("u1")
    out = quern.zeros(shape, "u1")
    module.get_function("sobel")(*over(shape, (16, 8)), (quern.asarray(image), out, *shape))
    p = edges(image.astype(int), 1)
    gx = (p[:, 2:] - p[:, :-2])[:-2] + 2 * (p[:, 2:] - p[:, :-2])[1:-1] + (p[:, 2:] - p[:, :-2])[2:]
    gy = (p[2:] - p[:-2])[:, :-2] + 2 * (p[2:] - p[:-2])[:, 1:-1] + (p[2:] - p[:-2])[:, 2:]
    np.testing.assert_array_equal(out.get(), np.minimum(255, abs(gx) + abs(gy)))


@pytest.mark.parametrize("shape", SHAPES)
def test_separable_blur(device, module, shape):
    image = np.random.default_rng(3).random((*shape, 3), np.float32)
    half, out = quern.zeros((*shape, 3), "f4"), quern.zeros((*shape, 3), "f4")
    args = (quern.asarray(image), half, *shape)
    module.get_function("blur_rows")(
        (-(-shape[1] // 24), shape[0]), (24,), args, shared_mem=12 * 28, strict=False
    )
    module.get_function("blur_columns")(*over(shape, (8, 5)), (half, out, *shape), strict=False)
    taps = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    p = edges(image.astype("f8"), 2)
    across = sum(taps[k] * p[:, k : k + shape[1]] for k in range(5))
    wanted = sum(taps[k] * across[k : k + shape[0]] for k in range(5))
    np.testing.assert_allclose(out.get(), wanted, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("radius", [0, 2])
def test_bilateral(device, module, shape, radius):
    image = np.random.default_rng(4).random(shape, np.float32)
    out = quern.zeros(shape, "f4")
    args = (quern.asarray(image), out, *shape, radius, np.float32(1.5), np.float32(0.2))
    module.get_function("bilateral")(*over(shape, (9, 7)), args)
    h, w = shape
    p = np.pad(image.astype("f8"), radius, constant_values=np.nan)
    total, weights = np.zeros(shape), np.zeros(shape)
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            v = p[radius + dy : radius + dy + h, radius + dx : radius + dx + w]
            weight = np.exp(-(dx * dx + dy * dy) / 4.5 - (v - image) ** 2 / 0.08)
            total += np.nan_to_num(weight * v)
            weights += np.nan_to_num(weight)
    np.testing.assert_allclose(out.get(), total / weights, rtol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_median(device, module, shape):
    image = np.random.default_rng(5).integers(0, 256, (*shape, 4)).astype("u1")
    out = quern.zeros((*shape, 4), "u1")
    module.get_function("median")(
        *over(shape, (16, 16)), (quern.asarray(image), out, *shape), strict=False
    )
    windows = np.lib.stride_tricks.sliding_window_view(edges(image, 1), (3, 3), (0, 1))
    np.testing.assert_array_equal(out.get(), np.median(windows, (3, 4)).astype("u1"))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("angle", [0.0, 0.7])
def test_rotate(device, module, shape, angle):
    h, w = shape
    image = np.random.default_rng(6).random(shape, np.float32)
    out = quern.zeros(shape, "f4")
    module.get_function("rotate")(
        *over(shape, (32, 2)), (quern.asarray(image), out, h, w, np.float32(angle))
    )
    v, u = np.mgrid[:h, :w] - np.array([(h - 1) / 2, (w - 1) / 2])[:, None, None]
    s, c = np.sin(np.float32(angle), dtype="f8"), np.cos(np.float32(angle), dtype="f8")
    sx, sy = c * u + s * v + (w - 1) / 2, -s * u + c * v + (h - 1) / 2
    x0, y0 = np.floor(sx).astype(int), np.floor(sy).astype(int)
    p = np.pad(image.astype("f8"), 60)
    fx, fy = sx - x0, sy - y0
    at = {(j, i): p[y0 + j + 60, x0 + i + 60] for j in (0, 1) for i in (0, 1)}
    wanted = (1 - fy) * ((1 - fx) * at[0, 0] + fx * at[0, 1]) + fy * (
        (1 - fx) * at[1, 0] + fx * at[1, 1]
    )
    np.testing.assert_allclose(out.get(), wanted, atol=1e-4)
