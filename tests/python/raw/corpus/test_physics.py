"""Numbers by the million: bodies, options, fractals, rays, Fourier transforms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import quern

CODE = r"""
// All pairs, positions through shared memory a tile at a time.
template <int Tile> __global__ void bodies(const float4* position, float4* force, int n, float softening) {
    __shared__ float4 tile[Tile];
    int i = blockIdx.x * Tile + threadIdx.x;
    float4 me = i < n ? position[i] : make_float4(0, 0, 0, 0);
    float3 sum = {0.0f, 0.0f, 0.0f};
    for (int base = 0; base < n; base += Tile) {
        tile[threadIdx.x] = base + threadIdx.x < n ? position[base + threadIdx.x] : make_float4(0, 0, 0, 0);
        __syncthreads();
#pragma unroll 4
        for (int j = 0; j < Tile; ++j) {
            float3 d = make_float3(tile[j].x - me.x, tile[j].y - me.y, tile[j].z - me.z);
            float r = rsqrtf(fmaf(d.x, d.x, fmaf(d.y, d.y, fmaf(d.z, d.z, softening))));
            float w = tile[j].w * r * r * r;
            sum.x += d.x * w, sum.y += d.y * w, sum.z += d.z * w;
        }
        __syncthreads();
    }
    if (i < n) force[i] = make_float4(sum.x, sum.y, sum.z, me.w);
}

__device__ double normal(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }
template <class T> struct Market { T rate, volatility; };
template <class T>
__global__ void black_scholes(const T* spot, const T* strike, const T* years, T* call, T* put, int n, Market<T> m) {
    for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        T root = sqrt(years[i]),
          d1 = (log(spot[i] / strike[i]) + (m.rate + T(0.5) * m.volatility * m.volatility) * years[i]) /
               (m.volatility * root);
        T d2 = d1 - m.volatility * root, discounted = strike[i] * exp(-m.rate * years[i]);
        T c = spot[i] * T(normal(d1)) - discounted * T(normal(d2));
        call[i] = c, put[i] = c - spot[i] + discounted;
    }
}

// American put on a binomial tree, one option a block, the tree's level in shared memory.
extern "C" __global__ void binomial(const double* spots, double* values, int steps, double strike, double u, double p,
                                    double discount) {
    extern __shared__ double level[];
    double s = spots[blockIdx.x];
    for (int i = threadIdx.x; i <= steps; i += blockDim.x) level[i] = fmax(strike - s * pow(u, 2.0 * i - steps), 0.0);
    for (int t = steps - 1; t >= 0; --t)
        for (int base = 0; base <= t; base += blockDim.x) {
            int i = base + threadIdx.x;
            __syncthreads();
            double v = i <= t ? discount * (p * level[i + 1] + (1 - p) * level[i]) : 0;
            __syncthreads();
            if (i <= t) level[i] = fmax(v, strike - s * pow(u, 2.0 * i - t));
        }
    __syncthreads();
    if (threadIdx.x == 0) values[blockIdx.x] = level[0];
}

extern "C" __global__ void mandelbrot(int* counts, int h, int w, double x0, double y0, double step, int limit) {
    int x = threadIdx.x + blockIdx.x * blockDim.x, y = threadIdx.y + blockIdx.y * blockDim.y;
    if (x >= w || y >= h) return;
    double cr = x0 + x * step, ci = y0 + y * step, zr = 0, zi = 0;
    int k = 0;
    while (k < limit && __dadd_rn(__dmul_rn(zr, zr), __dmul_rn(zi, zi)) <= 4.0) {
        double t = __dadd_rn(__dsub_rn(__dmul_rn(zr, zr), __dmul_rn(zi, zi)), cr);
        zi = __dadd_rn(__dmul_rn(__dmul_rn(2.0, zr), zi), ci);
        zr = t;
        ++k;
    }
    counts[y * w + x] = k;
}

// Radix-2 Fourier transforms, one a block, bit-reversed into shared memory.
extern "C" __global__ void fourier(float2* data, int log2n, float direction) {
    extern __shared__ float2 s[];
    const int n = 1 << log2n;
    data += blockIdx.x * n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s[__brev(i) >> (32 - log2n)] = data[i];
    for (int half = 1; half < n; half *= 2) {
        __syncthreads();
        for (int b = threadIdx.x; b < n / 2; b += blockDim.x) {
            int k = b & (half - 1), i = 2 * b - k;
            float sine, cosine;
            sincospif(direction * k / half, &sine, &cosine);
            float2 x = s[i], y = s[i + half];
            float2 t = make_float2(y.x * cosine - y.y * sine, y.x * sine + y.y * cosine);
            s[i] = make_float2(x.x + t.x, x.y + t.y);
            s[i + half] = make_float2(x.x - t.x, x.y - t.y);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = s[i];
}

// Rays among spheres: recursion for mirrors, a virtual function for what is hit.
struct Vec {
    float x, y, z;
    __device__ Vec(float a = 0, float b = 0, float c = 0) : x(a), y(b), z(c) {}
    __device__ Vec operator+(const Vec& o) const { return {x + o.x, y + o.y, z + o.z}; }
    __device__ Vec operator-(const Vec& o) const { return {x - o.x, y - o.y, z - o.z}; }
    __device__ Vec operator*(float k) const { return {x * k, y * k, z * k}; }
    __device__ float dot(const Vec& o) const { return x * o.x + y * o.y + z * o.z; }
};
struct Shape {
    float mirror;
    __device__ virtual float hit(const Vec& from, const Vec& to) const = 0;
    __device__ virtual Vec normal(const Vec& at) const = 0;
};
struct Sphere : Shape {
    Vec centre;
    float radius;
    __device__ float hit(const Vec& from, const Vec& to) const override {
        Vec d = from - centre;
        float b = d.dot(to), c = d.dot(d) - radius * radius, q = b * b - c;
        if (q < 0) return -1;
        float t = -b - sqrtf(q);
        return t > 1e-3f ? t : -1;
    }
    __device__ Vec normal(const Vec& at) const override { return (at - centre) * (1 / radius); }
};
struct Floor : Shape {
    __device__ float hit(const Vec& from, const Vec& to) const override {
        float t = -(from.y + 1) / to.y;
        return t > 1e-3f ? t : -1;
    }
    __device__ Vec normal(const Vec&) const override { return {0, 1, 0}; }
};
__device__ float trace(Shape** shapes, int count, Vec from, Vec to, int depth) {
    float nearest = 1e30f;
    const Shape* hit = nullptr;
    for (int i = 0; i < count; ++i) {
        float t = shapes[i]->hit(from, to);
        if (t > 0 && t < nearest) nearest = t, hit = shapes[i];
    }
    if (!hit) return 0.5f + 0.5f * to.y;
    Vec at = from + to * nearest, n = hit->normal(at);
    float shade = fmaxf(0.0f, n.dot(Vec(0.57735027f, 0.57735027f, -0.57735027f)));
    if (hit->mirror <= 0 || depth == 0) return shade;
    return shade * (1 - hit->mirror) + hit->mirror * trace(shapes, count, at, to - n * (2 * n.dot(to)), depth - 1);
}
extern "C" __global__ void rays(float* image, const float* spheres, int count, int h, int w, int depth) {
    Shape* shapes[8];
    Sphere balls[7];
    Floor ground;
    ground.mirror = 0.25f;
    for (int i = 0; i < count; ++i) {
        balls[i].centre = Vec(spheres[5 * i], spheres[5 * i + 1], spheres[5 * i + 2]);
        balls[i].radius = spheres[5 * i + 3], balls[i].mirror = spheres[5 * i + 4];
        shapes[i] = &balls[i];
    }
    shapes[count] = &ground;
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= h * w) return;
    Vec to((p % w + 0.5f) / w * 2 - 1, 1 - (p / w + 0.5f) / h * 2, 1.5f);
    image[p] = trace(shapes, count + 1, Vec(0, 0, -4), to * rsqrtf(to.dot(to)), depth);
}
"""


@pytest.fixture(scope="module")
def module():
    names = ["bodies<32>", "bodies<100>", "black_scholes<float>", "black_scholes<double>"]
    return quern.RawModule(code=CODE, name_expressions=names)


@pytest.mark.parametrize("tile", [32, 100])
@pytest.mark.parametrize("n", [1, 100, 333])
def test_bodies(device, module, tile, n):
    p = np.random.default_rng(n).random((n, 4)).astype("f4")
    out = quern.zeros((n, 4), "f4")
    args = (quern.asarray(p), out, n, np.float32(0.01))
    module.get_function(f"bodies<{tile}>")((-(-n // tile),), (tile,), args, strict=False)
    d = (p[None, :, :3] - p[:, None, :3]).astype("f8")
    w = p[:, 3] / ((d**2).sum(2) + 0.01) ** 1.5
    np.testing.assert_allclose(out.get()[:, :3], (d * w[..., None]).sum(1), rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(out.get()[:, 3], p[:, 3])


@pytest.mark.parametrize(("ctype", "dtype"), [("float", "f4"), ("double", "f8")])
@pytest.mark.parametrize("n", [1, 1000])
def test_black_scholes(device, module, ctype, dtype, n):
    random = np.random.default_rng(n)
    spot, strike, years = (
        random.uniform(*r, n).astype(dtype) for r in ((5, 30), (1, 100), (0.25, 10))
    )
    call, put = quern.zeros(n, dtype), quern.zeros(n, dtype)
    market = np.array([(0.02, 0.3)], [("rate", dtype), ("volatility", dtype)])[0]
    args = (quern.asarray(spot), quern.asarray(strike), quern.asarray(years), call, put, n, market)
    module.get_function(f"black_scholes<{ctype}>")((2,), (130,), args)
    s, k, t = (v.astype("f8") for v in (spot, strike, years))
    cdf = np.vectorize(lambda x: 0.5 * math.erfc(-x / 2**0.5))
    d1 = (np.log(s / k) + (0.02 + 0.045) * t) / (0.3 * np.sqrt(t))
    wanted = s * cdf(d1) - k * np.exp(-0.02 * t) * cdf(d1 - 0.3 * np.sqrt(t))
    tolerance = 1e-4 if dtype == "f4" else 1e-12
    np.testing.assert_allclose(call.get(), wanted, atol=tolerance)
    np.testing.assert_allclose(put.get(), wanted - s + k * np.exp(-0.02 * t), atol=tolerance)


@pytest.mark.parametrize(("steps", "block"), [(1, 32), (50, 16), (64, 100)])
def test_binomial_options(device, module, steps, block):
    spots = np.linspace(60, 140, 9)
    dt, strike = 1 / steps, 100.0
    u = math.exp(0.25 * dt**0.5)
    p, discount = (math.exp(0.03 * dt) - 1 / u) / (u - 1 / u), math.exp(-0.03 * dt)
    out = quern.zeros(9, "f8")
    args = (quern.asarray(spots), out, steps, strike, u, p, discount)
    module.get_function("binomial")((9,), (block,), args, shared_mem=8 * (steps + 1))
    for spot, found in zip(spots, out.get(), strict=True):
        v = np.maximum(strike - spot * u ** (2.0 * np.arange(steps + 1) - steps), 0)
        for t in range(steps - 1, -1, -1):
            now = strike - spot * u ** (2.0 * np.arange(t + 1) - t)
            v = np.maximum(discount * (p * v[1 : t + 2] + (1 - p) * v[: t + 1]), now)
        np.testing.assert_allclose(found, v[0], rtol=1e-10)


@pytest.mark.parametrize("shape", [(1, 1), (37, 50)])
def test_mandelbrot(device, module, shape):
    h, w = shape
    out = quern.zeros(shape, "i4")
    module.get_function("mandelbrot")(
        (-(-w // 16), -(-h // 8)), (16, 8), (out, h, w, -2.0, -1.25, 2.5 / h, 60)
    )
    step = np.float64(2.5 / h)
    cr, ci = -2.0 + np.arange(w) * step, -1.25 + np.arange(h)[:, None] * step
    zr, zi, counts = np.zeros(shape), np.zeros(shape), np.zeros(shape, int)
    inside = np.ones(shape, bool)
    for _ in range(60):
        inside &= zr * zr + zi * zi <= 4
        counts += inside
        zr, zi = (
            np.where(inside, zr * zr - zi * zi + cr, zr),
            np.where(inside, 2 * zr * zi + ci, zi),
        )
    assert (out.get() != counts).mean() < 0.005  # x0 + x * step may be fused


@pytest.mark.parametrize(("log2n", "block"), [(1, 1), (6, 32), (10, 100)])
@pytest.mark.parametrize("direction", [-1.0, 1.0])
def test_fourier(device, module, log2n, block, direction):
    n = 2**log2n
    random = np.random.default_rng(n)
    x = (random.normal(size=(3, n)) + 1j * random.normal(size=(3, n))).astype("c8")
    given = quern.asarray(x)
    args = (given, log2n, np.float32(direction))
    module.get_function("fourier")((3,), (block,), args, shared_mem=8 * n, strict=False)
    wanted = np.fft.fft(x.astype("c16")) if direction < 0 else np.fft.ifft(x.astype("c16")) * n
    np.testing.assert_allclose(given.get(), wanted, atol=3e-6 * n)


def trace(from_, to, spheres, depth):
    nearest, hit = 1e30, None
    for sphere in spheres:
        d = from_ - sphere[:3]
        b, c = d @ to, d @ d - sphere[3] ** 2
        if b * b - c >= 0:
            t = -b - (b * b - c) ** 0.5
            if 1e-3 < t < nearest:
                nearest, hit = t, sphere
    t = -(from_[1] + 1) / to[1]
    if 1e-3 < t < nearest:
        nearest, hit = t, "floor"
    if hit is None:
        return 0.5 + 0.5 * to[1]
    at = from_ + to * nearest
    floor = isinstance(hit, str)
    normal = np.array([0.0, 1, 0]) if floor else (at - hit[:3]) / hit[3]
    mirror = 0.25 if floor else hit[4]
    shade = max(0.0, normal @ np.array([1, 1, -1]) / 3**0.5)
    if mirror <= 0 or depth == 0:
        return shade
    return shade * (1 - mirror) + mirror * trace(
        at, to - normal * (2 * (normal @ to)), spheres, depth - 1
    )


@pytest.mark.parametrize("count", [0, 5])
def test_rays(device, module, count):
    h, w = 12, 17
    random = np.random.default_rng(11)
    spheres = np.concatenate(
        [
            random.uniform(-1.5, 1.5, (count, 3)),
            random.uniform(0.2, 0.7, (count, 1)),
            random.random((count, 1)),
        ],
        1,
    )
    spheres = spheres.astype("f4")
    image = quern.zeros((h, w), "f4")
    given = quern.asarray(spheres) if count else None
    module.get_function("rays")((3,), (70,), (image, given, count, h, w, 3))
    wanted = np.zeros((h, w))
    for y in range(h):
        for x in range(w):
            to = np.array([(x + 0.5) / w * 2 - 1, 1 - (y + 0.5) / h * 2, 1.5])
            wanted[y, x] = trace(
                np.array([0.0, 0, -4]), to / np.linalg.norm(to), spheres.astype("f8"), 3
            )
    different = ~np.isclose(image.get(), wanted, atol=5e-3)
    assert different.mean() < 0.03  # rays that just miss an edge
