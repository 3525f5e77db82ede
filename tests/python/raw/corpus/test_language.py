"""What C++ programs for the GPU are made of: templates, functors, virtual calls, recursion, structs, views, votes."""

from __future__ import annotations

import numpy as np
import pytest

import quern

CODE = r"""
// Functors and lambdas as template arguments, a policy with static members, template by kind of value.
template <class T> struct Add {
    __device__ T operator()(T a, T b) const { return a + b; }
    static constexpr T start = T(0);
};
template <class T> struct Most {
    __device__ T operator()(T a, T b) const { return a > b ? a : b; }
    static constexpr T start = T(-1000);
};
template <typename T, template <class> class Op, int Items>
__global__ void fold(const T* in, T* out, int n, Op<T> op = Op<T>()) {
    T result = Op<T>::start;
#pragma unroll
    for (int k = 0; k < Items; ++k) {
        int i = (blockIdx.x * blockDim.x + threadIdx.x) * Items + k;
        if (i < n) result = op(result, in[i]);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = result;
}
template <class F> __device__ void for_each(int n, F f) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) f(i);
}
extern "C" __global__ void lambdas(const float* x, float* y, int n, float k) {
    auto scale = [k](float v) { return k * v; };
    for_each(n, [=](int i) {
        y[i] = scale(scale(x[i])) + (i % 2 ? 1.f : 0.f);
    });
}

// Threads leave before a barrier that the others meet at.
extern "C" __global__ void leave_early(const int* in, int* out, int n) {
    __shared__ int s[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = 0;
    if (i >= n) return;
    s[threadIdx.x] = in[i];
    __syncthreads();
    if (threadIdx.x % 2) return;
    int sum = s[threadIdx.x] + s[threadIdx.x + 1];
    __syncthreads();
    s[threadIdx.x] = sum;
    __syncthreads();
    out[i / 2] = s[threadIdx.x] + (threadIdx.x >= 2 ? s[threadIdx.x - 2] : 0);
}

// Recursion, tables of functions, mutual calls.
__device__ unsigned ackermann(unsigned m, unsigned n) {
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
__device__ bool odd(int n);
__device__ bool even(int n) { return n == 0 || odd(n - 1); }
__device__ bool odd(int n) { return n != 0 && even(n - 1); }
typedef double (*Binary)(double, double);
__device__ double plus(double a, double b) { return a + b; }
__device__ double minus(double a, double b) { return a - b; }
__device__ double times(double a, double b) { return a * b; }
__device__ Binary table[3] = {plus, minus, times};
__constant__ Binary last = times;
extern "C" __global__ void calls(const double* a, const double* b, double* out, unsigned* numbers) {
    int i = threadIdx.x;
    Binary local = i & 1 ? &minus : plus;
    out[i] = table[i % 3](a[i], b[i]) + 100 * local(a[i], b[i]) + 10000 * last(a[i], b[i]);
    numbers[i] = ackermann(2, i % 8) * 2 + even(i);
}
// A quicksort without a stack of its own.
__device__ void quicksort(int* x, int low, int high) {
    if (low >= high) return;
    int pivot = x[(low + high) / 2], i = low, j = high;
    while (i <= j) {
        while (x[i] < pivot) ++i;
        while (x[j] > pivot) --j;
        if (i <= j) {
            int t = x[i];
            x[i++] = x[j];
            x[j--] = t;
        }
    }
    quicksort(x, low, j);
    quicksort(x, i, high);
}
extern "C" __global__ void sort_rows(int* x, int columns) {
    quicksort(x + (blockIdx.x * blockDim.x + threadIdx.x) * columns, 0, columns - 1);
}

// Dynamic dispatch on objects that threads make in global memory.
__device__ int alive = 0;
class Animal {
  public:
    __device__ Animal(int legs) : legs_(legs) { atomicAdd(&alive, 1); }
    __device__ virtual ~Animal() { atomicSub(&alive, 1); }
    __device__ virtual int noise(int loud) const = 0;
    static constexpr int scale = 100;
    __device__ static int times(int noise) { return noise * scale; }
    __device__ int legs() const { return legs_; }

  protected:
    int legs_;
};
class Cat : public Animal {
  public:
    __device__ Cat() : Animal(4) {}
    __device__ int noise(int loud) const override { return 10 * loud; }
};
class Bird final : public Animal {
    int song;

  public:
    __device__ explicit Bird(int s) : Animal(2), song(s) {}
    __device__ int noise(int loud) const override { return song + loud; }
};
extern "C" __global__ void animals(int* out, int n) {
    __shared__ Animal* zoo[64];
    int t = threadIdx.x;
    if (t < n) {
        if (t % 3) zoo[t] = new Bird(t);
        else zoo[t] = new Cat;
    }
    __syncthreads();
    if (t < n) out[t] = Animal::times(zoo[(t + 1) % n]->noise(t)) + zoo[t]->legs();
    __syncthreads();
    if (t < n) delete zoo[t];
    __syncthreads();
    if (t == 0) out[n] = alive;
}

// Structs by value, with arrays, nesting, padding; returned; by reference; bit-fields and a union.
struct Inner {
    char tag;
    double weights[3];
};
struct Outer {
    int n;
    Inner inner;
    float3 scale;
    const float* data;
};
union Bits {
    float f;
    unsigned u;
    struct {
        unsigned mantissa : 23, exponent : 8, sign : 1;
    } parts;
};
__device__ Inner changed(Inner i, double by) {
    i.weights[2] += by;
    return i;
}
__device__ void grow(Outer& o) { o.n *= 2, o.inner = changed(o.inner, o.n); }
extern "C" __global__ void structs(Outer o, double* out) {
    Bits b;
    b.f = o.data[threadIdx.x];
    grow(o);
    out[threadIdx.x] =
        o.n + o.inner.tag + o.inner.weights[2] + o.scale.z * (int)(b.parts.exponent - 127) * (b.parts.sign ? -1 : 1);
}

// One piece of dynamic shared memory, seen as ints, doubles and bytes.
extern __shared__ __align__(16) unsigned char arena[];
extern "C" __global__ void views(const int* in, double* out, int n) {
    int* ints = reinterpret_cast<int*>(arena);
    double* doubles = (double*)(arena + ((n * sizeof(int) + 7) & ~size_t(7)));
    unsigned char* bytes = (unsigned char*)(doubles + n);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        ints[i] = in[i], doubles[i] = in[i] * 0.5, bytes[i] = (unsigned char)in[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int j = n - 1 - i;
        out[i] = ints[j] + doubles[j] + bytes[j];
    }
}

// Blocks and grids of three dimensions; warps cut through them x first.
extern "C" __global__ void cubes(unsigned* out) {
    unsigned rank = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned size = blockDim.x * blockDim.y * blockDim.z;
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned mask = __activemask(), first = __shfl_sync(mask, rank, 0), rows = __match_any_sync(mask, threadIdx.y);
    out[block * size + rank] = first + 1000 * __popc(rows) + 100000 * __popc(__ballot_sync(mask, threadIdx.z & 1));
}

// Votes of the block in loops that all threads leave together.
extern "C" __global__ void votes(int* x, int* rounds, int n) {
    int round = 0, i = threadIdx.x;
    do {
        if (i < n && x[i] > 1) x[i] = x[i] % 2 ? 3 * x[i] + 1 : x[i] / 2;
        ++round;
    } while (__syncthreads_or(i < n && x[i] > 1));
    int done = __syncthreads_count(i < n && x[i] == 1);
    int all = __syncthreads_and(i >= n || x[i] == 1);
    if (i == 0) rounds[0] = round, rounds[1] = done, rounds[2] = all;
}

// A counter in device memory that outlives launches, a table that threads fill first.
__device__ unsigned long long tally = 0;
__device__ float cache[256];
extern "C" __global__ void fill_cache(float k) { cache[threadIdx.x] = k * threadIdx.x; }
extern "C" __global__ void use_cache(float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = cache[i % 256];
    if (threadIdx.x == 0) atomicAdd(&tally, 1ULL);
    __threadfence();
    if (i == 0) out[n] = (float)atomicAdd(&tally, 0ULL);
}

// 32 bits wrap, shifts past the width shift everything out, division by zero goes on.
extern "C" __global__ void integers(const int* a, const int* b, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = a[i], y = b[i];
    unsigned u = x, v = y;
    out[i] = x * y + x, out[n + i] = x << (y & 63), out[2 * n + i] = u >> (v & 63), out[3 * n + i] = __mulhi(x, y);
    out[4 * n + i] = __clz(x) + 100 * __popc(y) + 10000 * __ffs(x),
                out[5 * n + i] = __brev(u) ^ __byte_perm(u, v, 0x6172);
    out[6 * n + i] = y ? x / y : 7, out[7 * n + i] = (int)((long long)x * y >> 20), out[8 * n + i] = __usad(u, v, 5u);
}
"""


@pytest.fixture(scope="module")
def module():
    names = ["fold<float, Add, 4>", "fold<int, Most, 3>", "fold<double, Add, 1>"]
    return quern.RawModule(code=CODE, name_expressions=names)


@pytest.mark.parametrize(
    ("name", "dtype", "items"),
    [
        ("fold<float, Add, 4>", "f4", 4),
        ("fold<int, Most, 3>", "i4", 3),
        ("fold<double, Add, 1>", "f8", 1),
    ],
)
@pytest.mark.parametrize("n", [1, 700])
def test_templates(device, module, name, dtype, items, n):
    x = np.random.default_rng(n).integers(-100, 100, n).astype(dtype)
    threads = -(-n // items)
    out = quern.zeros(-(-threads // 50) * 50, dtype)
    op = np.zeros(1, [("empty", "u1")])[0]
    module.get_function(name)((-(-threads // 50),), (50,), (quern.asarray(x), out, n, op))
    most = "Most" in name
    padded = np.pad(x, (0, threads * items - n), constant_values=-1000 if most else 0).reshape(
        threads, items
    )
    np.testing.assert_array_equal(out.get()[:threads], padded.max(1) if most else padded.sum(1))


def test_lambdas(device, module):
    x = np.random.default_rng(1).random(333, np.float32)
    y = quern.zeros(333, "f4")
    module.get_function("lambdas")((2,), (64,), (quern.asarray(x), y, 333, np.float32(0.5)))
    np.testing.assert_allclose(y.get(), x * 0.25 + np.arange(333) % 2, rtol=1e-6)


@pytest.mark.parametrize("n", [2, 128, 270])
def test_leaving_before_a_barrier(device, module, n):
    x = np.random.default_rng(n).integers(0, 100, n).astype("i4")
    out = quern.zeros(n // 2, "i4")
    module.get_function("leave_early")((-(-n // 128),), (128,), (quern.asarray(x), out, n))
    pairs = x.reshape(-1, 2).sum(1)
    before = np.where(np.arange(n // 2) % 64 == 0, 0, np.roll(pairs, 1))
    np.testing.assert_array_equal(out.get(), pairs + before)


def test_calls(device, module):
    a, b = np.random.default_rng(2).integers(-50, 50, (2, 40)).astype("f8")
    out, numbers = quern.zeros(40, "f8"), quern.zeros(40, "u4")
    module.get_function("calls")((1,), (40,), (quern.asarray(a), quern.asarray(b), out, numbers))
    i = np.arange(40)
    table = np.select([i % 3 == 0, i % 3 == 1], [a + b, a - b], a * b)
    np.testing.assert_array_equal(
        out.get(), table + 100 * np.where(i % 2, a - b, a + b) + 10000 * a * b
    )
    np.testing.assert_array_equal(numbers.get(), (2 * (i % 8) + 3) * 2 + (i % 2 == 0))


@pytest.mark.parametrize("columns", [1, 50])
def test_recursive_sort(device, module, columns):
    x = np.random.default_rng(columns).integers(-30, 30, (12, columns)).astype("i4")
    out = quern.asarray(x)
    module.get_function("sort_rows")((3,), (4,), (out, columns))
    np.testing.assert_array_equal(out.get(), np.sort(x, axis=1))


@pytest.mark.parametrize("n", [1, 50])
def test_virtual_functions(device, module, n):
    out = quern.full(n + 1, -1, "i4")
    module.get_function("animals")((1,), (64,), (out, n))
    t = np.arange(n)
    other = (t + 1) % n
    wanted = np.where(other % 3, other + t, 10 * t) * 100 + np.where(t % 3, 2, 4)
    np.testing.assert_array_equal(out.get(), [*wanted, 0])


def test_structs_by_value(device, module):
    x = np.array([1.5, -3, 0.2, 1000, -7e-3], "f4")
    data, out = quern.asarray(x), quern.zeros(5, "f8")
    inner = np.dtype([("tag", "i1"), ("weights", "f8", 3)], align=True)
    outer = np.dtype(
        [("n", "i4"), ("inner", inner), ("scale", "f4", 3), ("data", "u8")], align=True
    )
    value = np.zeros(1, outer)[0]
    value["n"], value["inner"]["tag"], value["inner"]["weights"] = 21, 5, (1, 2, 3.25)
    value["scale"], value["data"] = (1, 2, 0.5), data.data.ptr
    module.get_function("structs")((1,), (5,), (value, out))
    exponent = np.floor(np.log2(np.abs(x.astype("f8"))))
    np.testing.assert_array_equal(out.get(), 42 + 5 + 3.25 + 42 + 0.5 * exponent * np.sign(x))


@pytest.mark.parametrize("n", [1, 333])
def test_views_of_shared_memory(device, module, n):
    x = np.random.default_rng(n).integers(-1000, 1000, n).astype("i4")
    out = quern.zeros(n, "f8")
    module.get_function("views")((1,), (60,), (quern.asarray(x), out, n), shared_mem=13 * n + 8)
    np.testing.assert_array_equal(out.get(), (x * 1.5 + x.astype("u1"))[::-1])


@pytest.mark.parametrize("block", [(5, 3, 4), (32, 2, 1), (1, 1, 40), (8, 8, 2)])
def test_cubes(device, module, block):
    size, blocks = int(np.prod(block)), 6
    out = quern.zeros((blocks, size), "u4")
    module.get_function("cubes")((1, 2, 3), block, (out,))
    rank = np.arange(size)
    y, z = rank // block[0] % block[1], rank // (block[0] * block[1])
    warp = rank // 32
    same = (warp[:, None] == warp) & (y[:, None] == y)
    ones = ((warp[:, None] == warp) & (z % 2 == 1)).sum(1)
    wanted = warp * 32 + 1000 * same.sum(1) + 100000 * ones
    np.testing.assert_array_equal(out.get(), np.tile(wanted, (blocks, 1)))


@pytest.mark.parametrize(("n", "block"), [(1, 1), (50, 64), (97, 100)])
def test_votes(device, module, n, block):
    x = np.random.default_rng(n).integers(1, 1000, n).astype("i4")
    out, rounds = quern.asarray(x), quern.zeros(3, "i4")
    module.get_function("votes")((1,), (block,), (out, rounds, n))

    def steps(v):
        count = 0
        while v > 1:
            v, count = (3 * v + 1 if v % 2 else v // 2), count + 1
        return count

    assert rounds.get().tolist() == [max(1, *(steps(int(v)) for v in x), 0), n, 1]
    assert (out.get() == 1).all()


def test_device_variables_live_on(device):
    module = quern.RawModule(code=CODE)
    out = quern.zeros(601, "f4")
    module.get_function("fill_cache")((1,), (256,), (np.float32(0.5),))
    for launch in range(3):
        module.get_function("use_cache")((6,), (100,), (out, 600))
        assert launch * 6 + 1 <= out.get()[600] <= 18
    np.testing.assert_array_equal(out.get()[:600], np.arange(600) % 256 * 0.5)


def test_integers(device, module):
    n = 1000
    a, b = np.random.default_rng(6).integers(-(2**31), 2**31, (2, n)).astype("i4")
    a[:3], b[:3] = [0, -1, -(2**31)], [0, 31, 1]
    out = quern.zeros((9, n), "i4")
    module.get_function("integers")((4,), (256,), (quern.asarray(a), quern.asarray(b), out, n))
    x, y, u, v = (
        a.astype("i8"),
        b.astype("i8"),
        a.view("u4").astype("u8"),
        b.view("u4").astype("u8"),
    )
    shift = y & 63
    width = np.vectorize(lambda k: int(k).bit_length())
    reverse = np.vectorize(lambda k: int(f"{int(k):032b}"[::-1], 2))
    pair = np.stack([u >> (8 * k) & 255 for k in range(4)] + [v >> (8 * k) & 255 for k in range(4)])
    permuted = pair[2] | pair[7] << 8 | pair[1] << 16 | pair[6] << 24
    quotient = np.where(y == 0, 7, np.sign(x) * np.sign(y) * (abs(x) // np.maximum(abs(y), 1)))
    first = width(u & -u.astype("i8").astype("u8"))
    bits = np.array([bin(int(k)).count("1") for k in v])
    inside = np.minimum(shift, 31)
    wanted = [
        x * y + x,
        np.where(shift > 31, 0, x << inside),
        np.where(shift > 31, 0, u >> inside.astype("u8")),
        x * y >> 32,
        32 - width(u) + 100 * bits + 10000 * first,
        reverse(u).astype("u8") ^ permuted,
        quotient,
        x * y >> 20,
        np.where(u > v, u - v, v - u) + 5,
    ]
    for found, values in zip(out.get(), wanted, strict=True):
        np.testing.assert_array_equal(found.view("u4"), values.astype("u8").astype("u4"))
