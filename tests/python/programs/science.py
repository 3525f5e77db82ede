"""Programs of physics, statistics, pictures and networks."""

from __future__ import annotations

from typing import Any


def nbody(np: Any, mass: Any, pos: Any, vel: Any, steps: int = 5) -> Any:
    def acceleration() -> Any:
        x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
        dx, dy, dz = x.T - x, y.T - y, z.T - z
        inv = dx**2 + dy**2 + dz**2 + 0.01
        inv[inv > 0] = inv[inv > 0] ** (-1.5)
        return np.hstack(((dx * inv) @ mass, (dy * inv) @ mass, (dz * inv) @ mass))

    vel -= np.mean(mass * vel, 0) / np.mean(mass)
    acc, kinetic = acceleration(), np.ndarray(steps, dtype=np.float64)
    for i in range(steps):
        vel += acc * 0.005
        pos += vel * 0.01
        acc = acceleration()
        vel += acc * 0.005
        kinetic[i] = 0.5 * np.sum(np.sum(mass * vel**2))
    dx = pos[:, None, :] - pos[None, :, :]
    far = np.sqrt(np.sum(dx * dx, axis=-1))
    far[far > 0] = 1.0 / far[far > 0]
    return pos, vel, kinetic, np.sum(np.triu(-(mass * mass.T) * far, 1))


def mandelbrot(np: Any, width: int = 20, height: int = 15, most: int = 30) -> Any:
    x = np.linspace(-2.25, 0.75, width, dtype=np.float32)
    y = np.linspace(-1.25, 1.25, height, dtype=np.float32)
    c = x + y[:, None] * 1j
    counts = np.zeros(c.shape, dtype=np.int64)
    z = np.zeros(c.shape, dtype=np.complex128)
    for n in range(most):
        near = np.less(abs(z), 2.0)
        counts[near] = n
        z[near] = z[near] ** 2 + c[near]
    counts[counts == most - 1] = 0
    return counts


def mandelbrot_compact(np: Any, most: int = 30) -> Any:
    xi, yi = np.mgrid[0:12, 0:10]
    x, y = np.linspace(-2, 1, 12)[xi], np.linspace(-1, 1, 10)[yi]
    c = x + 1j * y
    n_out = np.zeros(c.shape, dtype=np.int64)
    xi.shape = yi.shape = c.shape = 120
    z = np.copy(c)
    for i in range(most):
        if not len(z):
            break
        np.multiply(z, z, z)
        np.add(z, c, z)
        out = abs(z) > 2.0
        n_out[xi[out], yi[out]] = i + 1
        np.logical_not(out, out)
        z, xi, yi, c = z[out], xi[out], yi[out], c[out]
    return n_out.T


def azimuthal_histogram(np: Any, values: Any, radius: Any) -> Any:
    low, high = radius.min(), radius.max()
    bins = np.minimum((np.float64(8) * (radius - low) / (high - low)).astype(int), 7)
    sums = np.bincount(bins, weights=values, minlength=8)
    counts, edges = np.histogram(radius, bins=8)
    return sums / np.maximum(np.bincount(bins, minlength=8), 1), counts, edges


def compute(np: Any, a: Any, b: Any) -> Any:
    return np.clip(a, 2, 10) * 4 + b * 3 + 9


def go_fast(np: Any, a: Any) -> Any:
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


def arc_distance(np: Any, t1: Any, p1: Any, t2: Any, p2: Any) -> Any:
    value = np.sin((t2 - t1) / 2) ** 2 + np.cos(t1) * np.cos(t2) * np.sin((p2 - p1) / 2) ** 2
    return 2 * np.arctan2(np.sqrt(value), np.sqrt(1 - value))


def softmax(np: Any, x: Any) -> Any:
    shifted = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return shifted / np.sum(shifted, axis=-1, keepdims=True)


def relu(np: Any, x: Any) -> Any:
    return np.maximum(x, 0)


def conv2d(np: Any, image: Any, weights: Any) -> Any:
    size, n = weights.shape[0], image.shape[0]
    h, w = image.shape[1] - size + 1, image.shape[2] - size + 1
    out = np.empty((n, h, w, weights.shape[3]), dtype=np.float32)
    for i in range(h):
        for j in range(w):
            out[:, i, j, :] = np.sum(
                image[:, i : i + size, j : j + size, :, np.newaxis] * weights[np.newaxis, :, :, :],
                axis=(1, 2, 3),
            )
    return out


def pool(np: Any, x: Any) -> Any:
    out = np.empty([x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]], dtype=x.dtype)
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            out[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return out


def lenet(np: Any, image: Any, c1: Any, b1: Any, c2: Any, b2: Any, w: Any) -> Any:
    x = pool(np, relu(np, conv2d(np, image, c1) + b1))
    x = pool(np, relu(np, conv2d(np, x, c2) + b2))
    x = np.reshape(x, (x.shape[0], -1))
    return softmax(np, x @ w)


def multilayer_perceptron(np: Any, x: Any, w1: Any, w2: Any) -> Any:
    hidden = relu(np, x @ w1)
    return softmax(np, hidden @ w2), np.argmax(hidden, axis=1), np.log1p(np.exp(-np.abs(hidden)))


def batch_norm(np: Any, x: Any) -> Any:
    mean = np.mean(x, axis=0, keepdims=True)
    std = np.std(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(std + 1e-5)


def attention(np: Any, q: Any, k: Any, v: Any) -> Any:
    scores = np.einsum("bqd,bkd->bqk", q, k) / np.sqrt(q.shape[-1])
    scores = np.where(np.tril(np.ones(scores.shape[-2:], dtype=bool)), scores, -np.inf)
    return softmax(np, scores) @ v


def monte_carlo_pi(np: Any, x: Any, y: Any) -> Any:
    inside = np.count_nonzero(x**2 + y**2 <= 1.0)
    return 4.0 * inside / x.size


def scattering(np: Any, neigh: Any, dh: Any, g: Any) -> Any:
    out = np.zeros(g.shape, dtype=g.dtype)
    for a in range(neigh.shape[0]):
        for b in range(neigh.shape[1]):
            if neigh[a, b] < 0:
                continue
            for i in range(3):
                out[:, a] += g[:, neigh[a, b]] @ dh[a, b, i]
    return out


def velocity_tendencies(np: Any, w: Any) -> Any:
    levels = np.where(w > 0.5, w, 0.0)
    indices = np.nonzero(levels)
    levels[indices] *= -1
    edges = np.concatenate([levels[:, :1], levels, levels[:, -1:]], axis=1)
    return (
        np.diff(edges, axis=1),
        np.cumsum(levels, axis=0),
        np.vstack([w.min(0), w.max(0)]),
        np.sort(w, axis=None),
    )


def crc16(np: Any, data: Any) -> Any:
    crc = np.uint16(0xFFFF)
    for byte in data:
        crc = crc ^ byte.astype(np.uint16)
        for _ in range(8):
            crc = np.where(crc & 1, (crc >> 1) ^ 0x8408, crc >> 1).astype(np.uint16)
    return (~crc).astype(np.uint16)


def spectrum(np: Any, signal: Any) -> Any:
    n = signal.shape[0]
    k = np.arange(n)
    twiddle = np.exp(-2j * np.pi * k[:, None] * k / n)
    found = twiddle @ signal
    power = np.abs(found) ** 2
    order = np.argsort(power, kind="stable")[::-1]
    return power, order[: n // 4], np.angle(found), np.unwrap(np.angle(found))


def quadrature(np: Any, x: Any) -> Any:
    y = np.sin(x) * np.exp(-(x**2))
    return (
        np.trapezoid(y, x),
        np.gradient(y, x),
        np.interp(x[:-1] + 0.01, x, y),
        np.polyval([1.0, 2, 3], x),
    )


def bands(np: Any, x: Any) -> Any:
    edges = np.percentile(x, [10, 50, 90])
    which = np.digitize(x, edges)
    unique, counts = np.unique(which, return_counts=True)
    means = np.array([x[which == b].mean() for b in unique])
    return edges, counts, means, np.median(x), np.searchsorted(np.sort(x), edges)


PROGRAMS = {
    "nbody": (nbody, lambda r: (20.0 * r.random((8, 1)) / 8, r.random((8, 3)), r.random((8, 3)))),
    "mandelbrot": (mandelbrot, lambda r: ()),
    "mandelbrot_compact": (mandelbrot_compact, lambda r: ()),
    "azimuthal_histogram": (azimuthal_histogram, lambda r: (r.random(200), r.random(200))),
    "compute": (compute, lambda r: (r.integers(0, 1000, (9, 8)), r.integers(0, 1000, (9, 8)))),
    "go_fast": (go_fast, lambda r: (r.random((9, 9)),)),
    "arc_distance": (arc_distance, lambda r: tuple(r.random(30) for _ in range(4))),
    "softmax": (softmax, lambda r: (r.random((3, 2, 5, 5)).astype("f4"),)),
    "lenet": (lenet, lambda r: (
        r.random((2, 16, 16, 1)).astype("f4"), r.random((5, 5, 1, 3)).astype("f4") - 0.5, r.random(3).astype("f4"),
        r.random((3, 3, 3, 4)).astype("f4") - 0.5, r.random(4).astype("f4"), r.random((16, 10)).astype("f4"))),
    "multilayer_perceptron": (multilayer_perceptron, lambda r: (
        r.random((4, 6)) - 0.5, r.random((6, 7)) - 0.5, r.random((7, 3)))),
    "batch_norm": (batch_norm, lambda r: (r.random((4, 5, 5, 3)).astype("f4"),)),
    "attention": (attention, lambda r: tuple(r.random((2, 5, 4)) for _ in range(3))),
    "monte_carlo_pi": (monte_carlo_pi, lambda r: (r.random(500), r.random(500))),
    "scattering": (scattering, lambda r: (
        r.integers(-1, 4, (4, 3)), r.random((4, 3, 3, 2, 2)) + 0j, r.random((5, 4, 2, 2)) + 1j)),
    "velocity_tendencies": (velocity_tendencies, lambda r: (r.random((7, 6)),)),
    "crc16": (crc16, lambda r: (r.integers(0, 256, 12).astype("u1"),)),
    "spectrum": (spectrum, lambda r: (r.random(32),)),
    "quadrature": (quadrature, lambda r: (r.random(40).cumsum() / 10,)),
    "bands": (bands, lambda r: (r.random(100),)),
}  # fmt: skip
