"""Programs that sweep over grids: heat, waves, flow, filters."""

from __future__ import annotations

from typing import Any


def jacobi_1d(np: Any, a: Any, b: Any, steps: int = 10) -> Any:
    for _ in range(steps):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])
    return a, b


def jacobi_2d(np: Any, a: Any, b: Any, steps: int = 10) -> Any:
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (
            a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]
        )
        a[1:-1, 1:-1] = 0.2 * (
            b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1]
        )
    return a, b


def heat_3d(np: Any, a: Any, b: Any, steps: int = 4) -> Any:
    for _ in range(steps):
        for new, old in ((b, a), (a, b)):
            inner = old[1:-1, 1:-1, 1:-1]
            new[1:-1, 1:-1, 1:-1] = (
                0.125 * (old[2:, 1:-1, 1:-1] - 2.0 * inner + old[:-2, 1:-1, 1:-1])
                + 0.125 * (old[1:-1, 2:, 1:-1] - 2.0 * inner + old[1:-1, :-2, 1:-1])
                + 0.125 * (old[1:-1, 1:-1, 2:] - 2.0 * inner + old[1:-1, 1:-1, :-2])
                + inner
            )
    return a, b


def fdtd_2d(np: Any, ex: Any, ey: Any, hz: Any, source: Any) -> Any:
    for t in range(len(source)):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def cavity_flow(np: Any, u: Any, v: Any, p: Any, steps: int = 5) -> Any:
    n = len(u)
    dx = dy = 2.0 / (n - 1)
    dt, rho, nu = 0.001, 1.0, 0.1
    for _ in range(steps):
        b = np.zeros_like(p)
        b[1:-1, 1:-1] = rho * (
            1
            / dt
            * ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx) + (v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy))
            - ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx)) ** 2
            - 2
            * ((u[2:, 1:-1] - u[0:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, 0:-2]) / (2 * dx))
            - ((v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy)) ** 2
        )
        for _ in range(8):
            pn = p.copy()
            p[1:-1, 1:-1] = (
                (pn[1:-1, 2:] + pn[1:-1, 0:-2]) * dy**2 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * dx**2
            ) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0
        un, vn = u.copy(), v.copy()
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[0:-2, 1:-1])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, 0:-2])
            + nu * dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, 0:-2])
        )
        u[0, :] = u[:, 0] = u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = v[-1, :] = v[:, 0] = v[:, -1] = 0
    return u, v, p


def horizontal_diffusion(np: Any, field: Any, weight: Any) -> Any:
    lap = 4.0 * field[1:-1, 1:-1, :] - (
        field[2:, 1:-1, :] + field[:-2, 1:-1, :] + field[1:-1, 2:, :] + field[1:-1, :-2, :]
    )
    along = lap[1:, 1:-1, :] - lap[:-1, 1:-1, :]
    across = lap[1:-1, 1:, :] - lap[1:-1, :-1, :]
    inner = field[2:-2, 2:-2, :]
    along = np.where(along * (field[2:-1, 2:-2, :] - field[1:-2, 2:-2, :]) > 0, 0, along)
    across = np.where(across * (field[2:-2, 2:-1, :] - field[2:-2, 1:-2, :]) > 0, 0, across)
    return inner - weight * (
        along[1:, :, :] - along[:-1, :, :] + across[:, 1:, :] - across[:, :-1, :]
    )


def gauss_seidel(np: Any, a: Any, steps: int = 2) -> Any:
    n = len(a)
    for _ in range(steps):
        for i in range(1, n - 1):
            a[i, 1:-1] += a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:] + a[i, 2:] + a[i + 1, :-2]
            a[i, 1:-1] += a[i + 1, 1:-1] + a[i + 1, 2:]
            for j in range(1, n - 1):
                a[i, j] += a[i, j - 1]
                a[i, j] /= 9.0
    return a


def game_of_life(np: Any, grid: Any, steps: int = 6) -> Any:
    for _ in range(steps):
        around = sum(
            np.roll(np.roll(grid, i, 0), j, 1)
            for i in (-1, 0, 1)
            for j in (-1, 0, 1)
            if (i, j) != (0, 0)
        )
        grid = ((around == 3) | ((grid == 1) & (around == 2))).astype(grid.dtype)
    return grid


def edges(np: Any, image: Any) -> Any:
    padded = np.pad(image, 1, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3))
    kernel = np.array([[1.0, 0, -1], [2, 0, -2], [1, 0, -1]])
    gx = np.einsum("ijkl,kl->ij", windows, kernel)
    gy = np.tensordot(windows, kernel.T, axes=([2, 3], [0, 1]))
    size = np.hypot(gx, gy)
    size /= size.max()
    return np.clip(np.round(size * 255), 0, 255).astype(np.uint8), np.rad2deg(np.arctan2(gy, gx))


def deriche(np: Any, image: Any) -> Any:
    k = (1.0 - np.exp(-0.25)) ** 2 / (1.0 + 0.5 * np.exp(-0.25) - np.exp(0.5))
    a1, b1, b2 = k, 2.0**-0.25, -np.exp(-0.5)
    y1, y2 = np.empty_like(image), np.empty_like(image)
    y1[:, 0] = a1 * image[:, 0]
    y1[:, 1] = a1 * image[:, 1] + b1 * y1[:, 0]
    for j in range(2, image.shape[1]):
        y1[:, j] = a1 * image[:, j] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
    y2[:, -1] = 0.0
    y2[:, -2] = a1 * image[:, -1]
    for j in range(image.shape[1] - 3, -1, -1):
        y2[:, j] = a1 * image[:, j + 1] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
    return y1 + y2


PROGRAMS = {
    "jacobi_1d": (jacobi_1d, lambda r: (r.random(60), r.random(60))),
    "jacobi_2d": (jacobi_2d, lambda r: (r.random((20, 20)), r.random((20, 20)))),
    "heat_3d": (heat_3d, lambda r: (r.random((10, 11, 12)), r.random((10, 11, 12)))),
    "fdtd_2d": (
        fdtd_2d,
        lambda r: (r.random((12, 14)), r.random((12, 14)), r.random((12, 14)), r.random(8)),
    ),
    "cavity_flow": (
        cavity_flow,
        lambda r: (r.random((12, 12)), r.random((12, 12)), r.random((12, 12))),
    ),
    "horizontal_diffusion": (
        horizontal_diffusion,
        lambda r: (r.random((14, 12, 4)), r.random((10, 8, 4))),
    ),
    "gauss_seidel": (gauss_seidel, lambda r: (r.random((9, 9)),)),
    "game_of_life": (game_of_life, lambda r: (r.integers(0, 2, (16, 17)),)),
    "edges": (edges, lambda r: (r.random((15, 18)),)),
    "deriche": (deriche, lambda r: (r.random((8, 14)),)),
}
