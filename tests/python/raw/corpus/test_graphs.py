"""Graphs: breadth first by frontier and by level, shortest paths, components, PageRank, all pairs."""

from __future__ import annotations

import numpy as np
import pytest

import quern

CODE = r"""
// By frontier queues: each newly reached node is taken by the thread whose compare-and-swap wins.
extern "C" __global__ void bfs_queue(const int* rows, const int* columns, int* levels, const int* frontier, int size,
                                     int* next, int* count, int level) {
    __shared__ int found[64];
    __shared__ int filled, base;
    if (threadIdx.x == 0) filled = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) {
        int node = frontier[i];
        for (int e = rows[node]; e < rows[node + 1]; ++e)
            if (atomicCAS(&levels[columns[e]], -1, level) == -1) {
                int place = atomicAdd(&filled, 1);
                if (place < 64) found[place] = columns[e];
                else next[atomicAdd(count, 1)] = columns[e]; // the block's own queue is full
            }
    }
    __syncthreads();
    int kept = min(filled, 64);
    if (threadIdx.x == 0) base = atomicAdd(count, kept);
    __syncthreads();
    for (int k = threadIdx.x; k < kept; k += blockDim.x) next[base + k] = found[k];
}

// By masks of bytes: one kernel spreads a level, the other makes what was touched the next one.
extern "C" __global__ void spread(const int2* spans, const int* columns, bool* active, bool* touched,
                                  const bool* seen, int* cost, int n) {
    for (int v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x) {
        if (!active[v]) continue;
        active[v] = false;
        const int2 span = spans[v];
        for (const int* c = columns + span.x; c != columns + span.y; ++c)
            if (!seen[*c]) cost[*c] = cost[v] + 1, touched[*c] = true;
    }
}
extern "C" __global__ void advance(bool* active, bool* touched, bool* seen, bool* more, int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (__syncthreads_or(v < n && touched[v]) && threadIdx.x == 0) *more = true;
    if (v >= n || !touched[v]) return;
    active[v] = seen[v] = true;
    touched[v] = false;
}

extern "C" __global__ void relax(const int* from, const int* to, const float* weight, float* distance, int edges,
                                 int* changed) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= edges) return;
    float d = distance[from[e]] + weight[e];
    if (d < 0) return;
    // Floats that are not negative are ordered as their bits.
    if (d < __int_as_float(atomicMin((int*)&distance[to[e]], __float_as_int(d)))) *changed = 1;
}

// Union-find with path halving; roots only ever become smaller.
__device__ int find(int* parent, int x) {
    while (true) {
        int p = ((volatile int*)parent)[x];
        if (p == x) return x;
        int g = ((volatile int*)parent)[p];
        if (p != g) atomicCAS(&parent[x], p, g);
        x = g;
    }
}
extern "C" __global__ void unite(const int2* edges, int* parent, int count) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= count) return;
    int a = find(parent, edges[e].x), b = find(parent, edges[e].y);
    while (a != b) {
        int high = max(a, b), low = min(a, b);
        int seen = atomicCAS(&parent[high], high, low);
        if (seen == high) break;
        a = find(parent, seen), b = find(parent, low);
    }
}
extern "C" __global__ void flatten(int* parent, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) parent[i] = find(parent, i);
}

extern "C" __global__ void page_rank(const int* rows, const int* columns, const int* degree, const double* old,
                                     double* rank, int n, double damping) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < n) {
        double sum = 0;
        for (int e = rows[v]; e < rows[v + 1]; ++e) sum += old[columns[e]] / degree[columns[e]];
        rank[v] = (1 - damping) / n + damping * sum;
    }
}

extern "C" __global__ void floyd_warshall(int* d, int n, int k) {
    __shared__ int through;
    int row = blockIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) through = d[row * n + k];
    __syncthreads();
    if (column >= n) return;
    int other = through + d[k * n + column];
    if (other < d[row * n + column]) d[row * n + column] = other;
}
"""


@pytest.fixture(scope="module")
def module():
    return quern.RawModule(code=CODE)


def random_graph(n, edges, seed=0):
    random = np.random.default_rng(seed)
    pairs = random.integers(0, n, (edges, 2)).astype("i4")
    pairs = np.concatenate([pairs, pairs[:, ::-1]])
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    rows = np.concatenate([[0], np.cumsum(np.bincount(pairs[:, 0], minlength=n))]).astype("i4")
    return pairs, rows, pairs[:, 1].copy()


def levels_of(rows, columns, n):
    levels = np.full(n, -1)
    levels[0] = 0
    queue = [0]
    for node in queue:
        for other in columns[rows[node] : rows[node + 1]]:
            if levels[other] < 0:
                levels[other] = levels[node] + 1
                queue.append(other)
    return levels


GRAPHS = [(1, 1), (100, 90), (777, 4000)]


@pytest.mark.parametrize(("n", "edges"), GRAPHS)
def test_bfs_by_queue(device, module, n, edges):
    _, rows, columns = random_graph(n, edges)
    r, c = quern.asarray(rows), quern.asarray(columns)
    start = np.full(n, -1, "i4")
    start[0] = 0
    levels, frontier, following = quern.asarray(start), quern.zeros(n, "i4"), quern.zeros(n, "i4")
    size, level = 1, 1
    while size:
        count = quern.zeros(1, "i4")
        args = (r, c, levels, frontier, size, following, count, level)
        module.get_function("bfs_queue")((-(-size // 48),), (48,), args)
        size, level = int(count.get()[0]), level + 1
        frontier, following = following, frontier
    np.testing.assert_array_equal(levels.get(), levels_of(rows, columns, n))


@pytest.mark.parametrize(("n", "edges"), GRAPHS)
def test_bfs_by_mask(device, module, n, edges):
    _, rows, columns = random_graph(n, edges)
    spans = quern.asarray(np.stack([rows[:-1], rows[1:]], 1))
    first = np.arange(n) == 0
    active, seen, touched = quern.asarray(first), quern.asarray(first), quern.zeros(n, "?")
    cost, e = quern.asarray(np.where(first, 0, -1).astype("i4")), quern.asarray(columns)
    while True:
        more = quern.zeros(1, "?")
        module.get_function("spread")((2,), (96,), (spans, e, active, touched, seen, cost, n))
        module.get_function("advance")((-(-n // 96),), (96,), (active, touched, seen, more, n))
        if not more.get()[0]:
            break
    np.testing.assert_array_equal(cost.get(), levels_of(rows, columns, n))


@pytest.mark.parametrize(("n", "edges"), GRAPHS)
def test_shortest_paths(device, module, n, edges):
    pairs, _, _ = random_graph(n, edges)
    weights = np.random.default_rng(1).integers(1, 100, len(pairs)).astype("f4")
    wanted = np.full(n, np.inf)
    wanted[0] = 0
    for _ in range(n):
        before = wanted.copy()
        np.minimum.at(wanted, pairs[:, 1], wanted[pairs[:, 0]] + weights)
        if (before == wanted).all():
            break
    start = np.full(n, np.inf, "f4")
    start[0] = 0
    distance = quern.asarray(start)
    a, b, w = (quern.asarray(v) for v in (pairs[:, 0].copy(), pairs[:, 1].copy(), weights))
    while True:
        changed = quern.zeros(1, "i4")
        module.get_function("relax")(
            (-(-len(pairs) // 128),), (128,), (a, b, w, distance, len(pairs), changed)
        )
        if not changed.get()[0]:
            break
    np.testing.assert_array_equal(distance.get(), wanted)


@pytest.mark.parametrize(("n", "edges"), [(1, 1), (1000, 600), (500, 3000)])
def test_components(device, module, n, edges):
    pairs, _, _ = random_graph(n, edges)
    parent = quern.asarray(np.arange(n, dtype="i4"))
    module.get_function("unite")(
        (-(-len(pairs) // 64),), (64,), (quern.asarray(pairs), parent, len(pairs))
    )
    module.get_function("flatten")((-(-n // 64),), (64,), (parent, n))
    wanted = np.arange(n)
    while True:  # the least node of each component
        before = wanted.copy()
        np.minimum.at(wanted, pairs[:, 1], wanted[pairs[:, 0]])
        if (before == wanted).all():
            break
    np.testing.assert_array_equal(parent.get(), wanted)


@pytest.mark.parametrize(("n", "edges"), [(50, 200), (333, 2000)])
def test_page_rank(device, module, n, edges):
    pairs, rows, columns = random_graph(n, edges)
    degree = np.maximum(np.diff(rows), 1).astype("i4")
    matrix = np.zeros((n, n))
    np.add.at(matrix, (pairs[:, 0], pairs[:, 1]), 1 / degree[pairs[:, 1]])
    wanted = np.full(n, 1 / n)
    a, b = quern.asarray(wanted), quern.zeros(n, "f8")
    r, c, d = (quern.asarray(v) for v in (rows, columns, degree))
    for _ in range(20):
        module.get_function("page_rank")((-(-n // 77),), (77,), (r, c, d, a, b, n, 0.85))
        a, b = b, a
        wanted = 0.15 / n + 0.85 * matrix @ wanted
    np.testing.assert_allclose(a.get(), wanted, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 33, 70])
def test_floyd_warshall(device, module, n):
    random = np.random.default_rng(n)
    d = np.where(random.random((n, n)) < 0.1, random.integers(1, 50, (n, n)), 10**6).astype("i4")
    np.fill_diagonal(d, 0)
    given = quern.asarray(d)
    for k in range(n):
        module.get_function("floyd_warshall")((-(-n // 32), n), (32,), (given, n, k))
        d = np.minimum(d, d[:, k : k + 1] + d[k : k + 1])
    np.testing.assert_array_equal(given.get(), d)
