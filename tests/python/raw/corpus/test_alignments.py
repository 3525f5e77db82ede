"""Dynamic programming along diagonals: Needleman-Wunsch in tiles, Smith-Waterman, longest common subsequence."""

from __future__ import annotations

import numpy as np
import pytest

import quern

CODE = r"""
#define B 16
__device__ __forceinline__ int largest(int a, int b, int c) { return max(a, max(b, c)); }

// A tile of the score matrix, its diagonal steps separated by barriers; blocks of one anti-diagonal a launch.
extern "C" __global__ void wunsch(const int* match, int* score, int width, int gap, int diagonal, int first) {
    __shared__ int s[B + 1][B + 1], m[B][B];
    int bx = first + blockIdx.x, by = diagonal - bx, t = threadIdx.x;
    int corner = by * B * width + bx * B;
    for (int y = 0; y < B; ++y) m[y][t] = match[corner + (y + 1) * width + t + 1];
    if (t == 0) s[0][0] = score[corner];
    s[t + 1][0] = score[corner + (t + 1) * width];
    s[0][t + 1] = score[corner + t + 1];
    __syncthreads();
    for (int step = 0; step < 2 * B - 1; ++step) {
        int x = step < B ? t + 1 : t + step - B + 2, y = step < B ? step - t + 1 : B - t;
        if (step < B ? t <= step : t <= 2 * B - 2 - step)
            s[y][x] = largest(s[y - 1][x - 1] + m[y - 1][x - 1], s[y][x - 1] - gap, s[y - 1][x] - gap);
        __syncthreads();
    }
    for (int y = 0; y < B; ++y) score[corner + (y + 1) * width + t + 1] = s[y + 1][t + 1];
}

// Local alignment of many pairs: a warp each, the query's letters over the lanes, values passed on by shuffles.
extern "C" __global__ void waterman(const char* queries, const char* targets, int* best, int pairs, int length) {
    int pair = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (pair >= pairs) return;
    char mine = queries[pair * 32 + lane];
    int left = 0, diagonal = 0, most = 0;
    for (int step = 0; step < length + 31; ++step) {
        int up = __shfl_up_sync(~0u, left, 1);
        if (lane == 0) up = 0;
        int j = step - lane;
        if (j >= 0 && j < length) {
            int h = max(0, diagonal + (targets[pair * length + j] == mine ? 3 : -2));
            h = max(h, max(up, left) - 1);
            most = max(most, h);
            diagonal = up;
            left = h;
        }
    }
    most = __reduce_max_sync(~0u, most);
    if (lane == 0) best[pair] = most;
}

// Whole rows in shared memory, three of them in turn.
extern "C" __global__ void subsequence(const unsigned char* a, const unsigned char* b, int n, int m, int* out) {
    extern __shared__ short rows[];
    short *older = rows, *old = rows + n + 1, *now = rows + 2 * (n + 1);
    for (int i = threadIdx.x; i < 3 * (n + 1); i += blockDim.x) rows[i] = 0;
    for (int d = 2; d <= n + m; ++d) {
        __syncthreads();
        for (int i = max(1, d - m) + threadIdx.x; i <= min(n, d - 1); i += blockDim.x)
            now[i] = a[i - 1] == b[d - i - 1] ? older[i - 1] + 1 : max(old[i - 1], old[i]);
        __syncthreads();
        if (threadIdx.x == 0 && d <= m) now[0] = 0;
        short* t = older;
        older = old, old = now, now = t;
    }
    __syncthreads();
    if (threadIdx.x == 0) *out = old[n];
}
"""


@pytest.fixture(scope="module")
def module():
    return quern.RawModule(code=CODE)


@pytest.mark.parametrize("tiles", [1, 2, 5])
def test_needleman_wunsch(device, module, tiles):
    n, gap = 16 * tiles, 3
    match = np.random.default_rng(tiles).integers(-4, 6, (n + 1, n + 1)).astype("i4")
    score = np.zeros((n + 1, n + 1), "i4")
    score[0], score[:, 0] = -gap * np.arange(n + 1), -gap * np.arange(n + 1)
    given, weights = quern.asarray(score), quern.asarray(match)
    for diagonal in range(2 * tiles - 1):
        first = max(0, diagonal - tiles + 1)
        blocks = min(diagonal, tiles - 1) - first + 1
        module.get_function("wunsch")(
            (blocks,), (16,), (weights, given, n + 1, gap, diagonal, first)
        )
    for y in range(1, n + 1):
        for x in range(1, n + 1):
            score[y, x] = max(
                score[y - 1, x - 1] + match[y, x], score[y, x - 1] - gap, score[y - 1, x] - gap
            )
    np.testing.assert_array_equal(given.get(), score)


@pytest.mark.parametrize(("pairs", "length"), [(1, 1), (3, 32), (5, 77)])
def test_smith_waterman(device, module, pairs, length):
    random = np.random.default_rng(length)
    queries, targets = (random.integers(65, 69, (pairs, k)).astype("i1") for k in (32, length))
    best = quern.zeros(pairs, "i4")
    args = (quern.asarray(queries), quern.asarray(targets), best, pairs, length)
    module.get_function("waterman")((-(-pairs // 2),), (64,), args)
    for p in range(pairs):
        h = np.zeros((33, length + 1), int)
        for i in range(1, 33):
            for j in range(1, length + 1):
                same = 3 if queries[p, i - 1] == targets[p, j - 1] else -2
                h[i, j] = max(0, h[i - 1, j - 1] + same, h[i - 1, j] - 1, h[i, j - 1] - 1)
        assert best.get()[p] == h.max()


@pytest.mark.parametrize(("n", "m"), [(1, 1), (40, 9), (60, 101)])
def test_longest_common_subsequence(device, module, n, m):
    random = np.random.default_rng(n)
    a, b = random.integers(0, 5, n).astype("u1"), random.integers(0, 5, m).astype("u1")
    out = quern.zeros(1, "i4")
    module.get_function("subsequence")(
        (1,), (37,), (quern.asarray(a), quern.asarray(b), n, m, out), shared_mem=6 * (n + 1)
    )
    table = np.zeros((n + 1, m + 1), int)
    for i in range(n):
        for j in range(m):
            table[i + 1, j + 1] = (
                table[i, j] + 1 if a[i] == b[j] else max(table[i, j + 1], table[i + 1, j])
            )
    assert out.get()[0] == table[n, m]
