"""Loops over data: `for (i = start + thread; i < n; i += stride)` in all its spellings, in both tiers of the CPU.

The oracle walks the same loops in NumPy, all threads of a launch at once, with the counter's own type.
"""

from __future__ import annotations

import numpy as np
import pytest

import quern

TIERS = ("fibers", "regions")
COUNTERS = {
    "int": np.int32,
    "unsigned": np.uint32,
    "long long": np.int64,
    "size_t": np.uint64,
}
RESULTS = np.iinfo(np.int32).min  # what no kernel writes


def compiled(source, name, tier):
    return quern.RawKernel(source, name, (f"--quern-waiting={tier}",))


def launches(seed, count=6):
    """Random grids, blocks and sizes: none, one row, less than a block, whole rounds, and tails."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        grid = int(random.integers(1, 12))
        block = int(random.choice([1, 7, 32, 64, 100, 256, 512, 1024]))
        every = grid * block
        yield (
            grid,
            block,
            int(random.choice([0, 1, every - 1, every, every + 1, random.integers(1, 9 * every)])),
        )


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("counter", COUNTERS)
@pytest.mark.parametrize("compare", ["<", "<=", "!="])
def test_each_element_once(counter, compare, tier):
    source = f"""extern "C" __global__ void scale(const float* x, float* y, {counter} n) {{
        {counter} step = ({counter})gridDim.x * blockDim.x;
        for ({counter} i = ({counter})blockIdx.x * blockDim.x + threadIdx.x; i {compare} n; i += step)
            y[i] = 2 * x[i] + 1;
    }}"""
    kernel = compiled(source, "scale", tier)
    for grid, block, size in launches(len(counter) + len(compare)):
        n = size + grid * block
        if compare == "!=":
            # every thread must meet n itself
            grid, block, n = 1, 1, size
        x = np.random.default_rng(n).random(n + 1, np.float32)
        y = quern.full(n + 1, -1, np.float32)
        kernel((grid,), (block,), (quern.asarray(x), y, COUNTERS[counter](n)))
        last = n + 1 if compare == "<=" else n
        expected = np.full(n + 1, -1, np.float32)
        expected[:last] = 2 * x[:last] + 1
        np.testing.assert_array_equal(quern.asnumpy(y), expected)


def walked(start, step, keeps_on, most):
    """The counters of all threads, round by round, with -1 where a thread has left: rounds x threads."""
    now, rounds = start.copy(), []
    alive = keeps_on(now)
    while alive.any() and len(rounds) < most:
        rounds.append((now.copy(), alive.copy()))
        now = now + step
        alive &= keeps_on(now)
    return rounds


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("counter", COUNTERS)
def test_counters_that_wrap(counter, tier):
    """Starts, steps and limits anywhere: sums pass the type's end in some thread of a row, or in all of them."""
    kind = COUNTERS[counter]
    source = f"""extern "C" __global__ void walk({counter}* seen, {counter} first, {counter} step,
                                                 {counter} limit, int most) {{
        int t = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x, r = 0;
        for ({counter} i = first + t; i < limit && r < most; i += step, ++r) seen[r * all + t] = i;
    }}
    extern "C" __global__ void march({counter}* seen, {counter} first, {counter} step, {counter} limit) {{
        int t = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x, r = 0;
        for ({counter} i = first + t; i < limit; i += step) {{ seen[r * all + t] = i; ++r; }}
    }}"""
    module = quern.RawModule(code=source, options=(f"--quern-waiting={tier}",))
    walk, march = module.get_function("walk"), module.get_function("march")
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    random = np.random.default_rng(5)
    near = [low, -200, -1, 0, 1, 130, high - 300, high - 40, high]
    most = 6
    for grid, block in ((1, 64), (3, 33), (5, 256)):
        for _ in range(14):
            first, limit = (
                min(max(int(random.choice(near)) + int(random.integers(-40, 40)), low), high)
                for _ in range(2)
            )
            step = int(random.choice([1, 64, 100, 1 << 20, high // 3, high // 2 + 5]))
            with np.errstate(over="ignore"):
                start = (np.arange(grid * block).astype(kind) + np.array(first, kind)).astype(kind)
                end = np.array(limit, kind)
                rounds = walked(start, np.array(step, kind), lambda i, end=end: i < end, most)
            expected = np.zeros((most, grid * block), kind)
            for r, (value, alive) in enumerate(rounds):
                expected[r] = np.where(alive, value, 0)
            for kernel, rest in ((walk, (np.int32(most),)), (march, ())):
                if kernel is march and len(rounds) == most:
                    continue  # may go on for ever
                seen = quern.zeros((most, grid * block), kind)
                kernel((grid,), (block,), (seen, kind(first), kind(step), kind(limit), *rest))
                np.testing.assert_array_equal(
                    quern.asnumpy(seen), expected, f"{first} + t, by {step}, to {limit}"
                )


KEPT = r"""
template <class T> __device__ void row_of(const float* x, const float* y, float* out, T n, T step) {
    __shared__ float kept[1024];
    float sum = 0;
    for (T i = (T)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) sum += x[i] * y[i];
    kept[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 512; half > 0; half /= 2) {
        if (threadIdx.x < half && threadIdx.x + half < blockDim.x) kept[threadIdx.x] += kept[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = kept[0];
}
extern "C" __global__ void dot(const float* x, const float* y, float* out, int n) {
    row_of<int>(x, y, out, n, gridDim.x * blockDim.x);
}
extern "C" __global__ void dot_wide(const float* x, const float* y, float* out, size_t n) {
    row_of<size_t>(x, y, out, n, (size_t)gridDim.x * blockDim.x);
}
// No barrier: what each thread keeps, each thread writes.
extern "C" __global__ void partial(const float* x, const float* y, float* out, unsigned n) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0, most = -1;
    for (unsigned i = t; i < n; i += gridDim.x * blockDim.x) { sum += x[i] * y[i]; most = fmaxf(most, x[i]); }
    out[2 * t] = sum;
    out[2 * t + 1] = most;
}
"""


@pytest.mark.parametrize("tier", TIERS)
def test_what_threads_keep_from_round_to_round(tier):
    module = quern.RawModule(code=KEPT, options=(f"--quern-waiting={tier}",))
    for grid, block, n in launches(11, 8):
        x, y = np.random.default_rng(n).random((2, n), np.float32)
        of_thread = np.arange(n) % (grid * block)
        products = x.astype(np.float64) * y
        of_block = np.bincount(of_thread // block, products, grid)
        for name, kind in (("dot", np.int32), ("dot_wide", np.uint64)):
            out = quern.zeros(grid, np.float32)
            given = (quern.asarray(x), quern.asarray(y), out, kind(n))
            module.get_function(name)((grid,), (block,), given)
            np.testing.assert_allclose(quern.asnumpy(out), of_block, rtol=1e-5, atol=1e-6)
        out = quern.zeros((grid * block, 2), np.float32)
        given = (quern.asarray(x), quern.asarray(y), out, np.uint32(n))
        module.get_function("partial")((grid,), (block,), given)
        most = np.full(grid * block, -1, np.float32)
        np.maximum.at(most, of_thread, x)
        sums = np.bincount(of_thread, products, grid * block)
        np.testing.assert_allclose(quern.asnumpy(out)[:, 0], sums, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(quern.asnumpy(out)[:, 1], most)


WAYS = r"""
extern "C" __global__ void some(const int* x, int* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (x[i] % 3 == 0) continue;
        if (x[i] == 77) break;
        y[i] = x[i] % 3 == 1 ? x[i] * 2 : -x[i];
    }
}
extern "C" __global__ void both(const int* x, int* y, int n, int by) {
    int start = blockIdx.x * blockDim.x + threadIdx.x;
    const int* p = x + start;
    for (int i = start, j = 3 * start + 5; i < n; i += by, p += by, j += 3 * by) y[i] = *p + j;
}
extern "C" __global__ void with_barriers(const int* x, int* y, int n) {
    __shared__ int kept[256];
    for (int base = blockIdx.x * blockDim.x; base < n; base += gridDim.x * blockDim.x) {
        int i = base + threadIdx.x;
        kept[threadIdx.x] = i < n ? x[i] : 0;
        __syncthreads();
        if (i < n) y[i] = kept[blockDim.x - 1 - threadIdx.x];
        __syncthreads();
    }
}
extern "C" __global__ void plane(const int* x, int* y, int wide, int high) {
    for (int j = blockIdx.y * blockDim.y + threadIdx.y; j < high; j += gridDim.y * blockDim.y)
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < wide; i += gridDim.x * blockDim.x)
            y[j * wide + i] = x[j * wide + i] + i - 2 * j;
}
// Rows of which the block says which: their rounds differ from block to block.
extern "C" __global__ void ragged(const int* x, const int* starts, int* y) {
    int end = starts[blockIdx.x + 1];
    for (int i = starts[blockIdx.x] + threadIdx.x; i < end; i += blockDim.x) y[i] = x[i] * (int)blockIdx.x;
}
// Twice over the same, and what the first loop counted lives on.
extern "C" __global__ void twice(const int* x, int* y, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, rounds = 0, step = gridDim.x * blockDim.x;
    int j = i;
    for (; j < n; j += step) { y[j] = x[j] + rounds; ++rounds; }
    for (int k = i; k < m; k += step) y[k] += j * 10 + rounds;
}
"""


@pytest.fixture(scope="module", params=TIERS)
def ways(request):
    return quern.RawModule(code=WAYS, options=(f"--quern-waiting={request.param}",))


def run(module, name, grid, block, x, size, *rest):
    y = quern.full(size, RESULTS, np.int32)
    module.get_function(name)(grid, block, (quern.asarray(x), *rest[:-1], y, *rest[-1]))
    return quern.asnumpy(y)


def test_rounds_that_are_left_out_and_loops_that_end_early(ways):
    for grid, block, n in launches(21, 8):
        x = np.random.default_rng(n).integers(0, 200, n, dtype=np.int32)
        expected = np.full(n, RESULTS, np.int32)
        for t in range(min(n, grid * block)):
            for i in range(t, n, grid * block):
                if x[i] % 3 == 0:
                    continue
                if x[i] == 77:
                    break
                expected[i] = 2 * x[i] if x[i] % 3 == 1 else -x[i]
        found = run(ways, "some", (grid,), (block,), x, n, (np.int32(n),))
        np.testing.assert_array_equal(found, expected)


def test_several_counters_and_steps_of_any_size(ways):
    for grid, block, n in launches(31, 8):
        for by in (grid * block, grid * block + 3, 2 * grid * block):
            x = np.random.default_rng(n).integers(-999, 999, n, dtype=np.int32)
            start = np.arange(n) % by
            mine = start < grid * block
            expected = np.where(mine, x + 3 * np.arange(n) + 5, RESULTS)
            found = run(ways, "both", (grid,), (block,), x, n, (np.int32(n), np.int32(by)))
            np.testing.assert_array_equal(found, expected)


def test_barriers_in_the_rounds(ways):
    for grid, block, n in launches(41, 8):
        block = min(block, 256)
        x = np.random.default_rng(n).integers(-999, 999, n, dtype=np.int32)
        padded = np.concatenate([x, np.zeros(-n % block, np.int32)])
        expected = padded.reshape(-1, block)[:, ::-1].ravel()[:n]
        found = run(ways, "with_barriers", (grid,), (block,), x, n, (np.int32(n),))
        np.testing.assert_array_equal(found, expected)


def test_planes(ways):
    random = np.random.default_rng(51)
    for _ in range(10):
        wide, high = (int(v) for v in random.integers(0, 150, 2))
        grid = tuple(int(v) for v in random.integers(1, 4, 2))
        block = (int(random.choice([1, 8, 16, 32])), int(random.choice([1, 3, 8, 32])))
        x = random.integers(-999, 999, (high, wide), dtype=np.int32)
        expected = x + np.arange(wide) - 2 * np.arange(high)[:, None]
        found = run(ways, "plane", grid, block, x, wide * high, (np.int32(wide), np.int32(high)))
        np.testing.assert_array_equal(found, expected.ravel())


def test_rounds_that_differ_from_block_to_block(ways):
    random = np.random.default_rng(61)
    for block in (32, 100, 256):
        starts = np.concatenate([[0], np.cumsum(random.integers(0, 900, 23))]).astype(np.int32)
        x = random.integers(-999, 999, starts[-1], dtype=np.int32)
        expected = x * np.repeat(np.arange(23), np.diff(starts))
        found = run(ways, "ragged", (23,), (block,), x, x.size, quern.asarray(starts), ())
        np.testing.assert_array_equal(found, expected)


def test_loops_one_after_the_other(ways):
    for grid, block, n in launches(71, 8):
        for m in (n, n // 2, n + 50):
            x = np.random.default_rng(n).integers(-999, 999, max(n, m), dtype=np.int32)
            every = grid * block
            expected = np.full(max(n, m), RESULTS, np.int64)
            place = np.arange(max(n, m))
            expected[:n] = x[:n] + place[:n] // every
            rounds = np.maximum(0, -(-(n - place % every) // every))
            expected[:m] += ((place % every + rounds * every) * 10 + rounds)[:m]
            found = run(ways, "twice", (grid,), (block,), x, max(n, m), (np.int32(n), np.int32(m)))
            np.testing.assert_array_equal(found, expected.astype(np.int32))
