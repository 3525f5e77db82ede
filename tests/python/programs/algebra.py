"""Programs of linear algebra: products, factorisations, dynamic programming over matrices."""

from __future__ import annotations

from typing import Any


def gemm(np: Any, a: Any, b: Any, c: Any) -> Any:
    c[:] = 1.5 * a @ b + 1.2 * c
    return c


def two_products(np: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    d[:] = 1.5 * a @ b @ c + 1.2 * d
    return d


def gemver(np: Any, a: Any, u1: Any, v1: Any, u2: Any, v2: Any, y: Any, z: Any) -> Any:
    a += np.outer(u1, v1) + np.outer(u2, v2)
    x = 1.2 * y @ a + z
    return a, x, 1.5 * a @ x


def normal_equations(np: Any, a: Any, x: Any) -> Any:
    return (a @ x) @ a, a.T @ a, np.linalg.norm(a @ x)


def doitgen(np: Any, a: Any, c4: Any) -> Any:
    nr, nq, n_p = a.shape
    a[:] = np.reshape(np.reshape(a, (nr, nq, 1, n_p)) @ c4, (nr, nq, n_p))
    return a


def cholesky(np: Any, a: Any) -> Any:
    a = a @ a.T + len(a) * np.eye(len(a))
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])
    return np.tril(a)


def lu(np: Any, a: Any) -> Any:
    a = a + 10 * np.eye(len(a))
    for k in range(a.shape[0] - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def triangular_solve(np: Any, lower: Any, b: Any) -> Any:
    x = np.zeros_like(b)
    for i in range(x.shape[0]):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / (lower[i, i] + 2)
    return x


def gram_schmidt(np: Any, a: Any) -> Any:
    q, r = np.zeros_like(a), np.zeros((a.shape[1], a.shape[1]), dtype=a.dtype)
    for k in range(a.shape[1]):
        norm = np.dot(a[:, k], a[:, k])
        r[k, k] = np.sqrt(norm)
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, a.shape[1]):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return q, r


def durbin(np: Any, r: Any) -> Any:
    y = np.empty_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def floyd_warshall(np: Any, paths: Any) -> Any:
    for k in range(paths.shape[0]):
        paths[:] = np.minimum(paths[:], np.add.outer(paths[:, k], paths[k, :]))
    return paths


def nussinov(np: Any, seq: Any) -> Any:
    n = len(seq)
    table = np.zeros((n, n), np.int32)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = np.maximum(table[i, j - 1], table[i + 1, j])
            pair = (seq[i] + seq[j] == 3) if i < j - 1 else 0
            best = np.maximum(best, table[i + 1, j - 1] + pair)
            if j - i > 1:
                best = np.maximum(best, np.max(table[i, i + 1 : j] + table[i + 2 : j + 1, j]))
            table[i, j] = best
    return table


def correlation(np: Any, data: Any) -> Any:
    mean, spread = np.mean(data, axis=0), np.std(data, axis=0)
    spread[spread <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(float(len(data))) * spread
    found = np.eye(data.shape[1], dtype=data.dtype)
    for i in range(data.shape[1] - 1):
        found[i + 1 :, i] = found[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
    return found, np.cov(data.T), np.corrcoef(data, rowvar=False)


def sparse_product(np: Any, rows: Any, columns: Any, values: Any, x: Any) -> Any:
    y = np.empty(len(rows) - 1, values.dtype)
    for i in range(len(rows) - 1):
        part = slice(int(rows[i]), int(rows[i + 1]))
        y[i] = values[part] @ x[columns[part]]
    return y


def contour_integral(np: Any, t: Any, y: Any) -> Any:
    p0, p1 = np.zeros(y.shape, np.complex128), np.zeros(y.shape, np.complex128)
    for i in range(6):
        z = np.exp(1j * np.pi * (i + 0.5) / 3)
        total = sum(np.power(z, 3 / 2 - n - 1) * t[n] for n in range(len(t)))
        x = total @ y
        p0 += x if np.abs(z) < 1 else -x
        p1 += z * x
    return p0, p1


def _sparse(r: Any) -> Any:
    counts = r.integers(0, 4, 9)
    rows = [0, *counts.cumsum().tolist()]
    import numpy

    return numpy.array(rows), r.integers(0, 7, rows[-1]), r.random(rows[-1]), r.random(7)


PROGRAMS = {
    "gemm": (gemm, lambda r: (r.random((7, 8)), r.random((8, 9)), r.random((7, 9)))),
    "two_products": (
        two_products,
        lambda r: (r.random((7, 8)), r.random((8, 9)), r.random((9, 5)), r.random((7, 5))),
    ),
    "gemver": (gemver, lambda r: (r.random((9, 9)), *(r.random(9) for _ in range(6)))),
    "normal_equations": (normal_equations, lambda r: (r.random((9, 6)), r.random(6))),
    "doitgen": (doitgen, lambda r: (r.random((4, 5, 6)), r.random((6, 6)))),
    "cholesky": (cholesky, lambda r: (r.random((8, 8)),)),
    "lu": (lu, lambda r: (r.random((9, 9)),)),
    "triangular_solve": (triangular_solve, lambda r: (r.random((9, 9)), r.random(9))),
    "gram_schmidt": (gram_schmidt, lambda r: (r.random((9, 5)),)),
    "durbin": (durbin, lambda r: (r.random(10) / 20,)),
    "floyd_warshall": (floyd_warshall, lambda r: (r.integers(1, 100, (12, 12)).astype("int32"),)),
    "nussinov": (nussinov, lambda r: (r.integers(0, 4, 12).astype("int32"),)),
    "correlation": (correlation, lambda r: (r.random((20, 6)),)),
    "sparse_product": (sparse_product, _sparse),
    "contour_integral": (
        contour_integral,
        lambda r: (r.random((3, 5, 5)) + 0j, r.random((5, 4)) + 0j),
    ),
}
