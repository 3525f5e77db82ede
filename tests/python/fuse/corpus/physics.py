"""Steps of simulations: fields on grids, bodies, populations."""

import numpy as np
from fuse.corpus.cases import Array, case

U = Array("h w", written=True)
FIELD = Array("h w")


@case(FIELD, steps=2, sizes=("main", {"h": 3, "w": 3}), near_zero=2)
def heat(u, steps, k=0.2):
    for _ in range(steps):
        new = u.copy()
        new[1:-1, 1:-1] += k * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
        u = new
    return u


@case(U, U, sizes="main ones", near_zero=4)
def wave(now, before, c=0.4):
    lap = np.zeros_like(now)
    lap[1:-1, 1:-1] = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2]
    lap[1:-1, 1:-1] -= 4 * now[1:-1, 1:-1]
    before *= -1
    before += 2 * now + c * c * lap
    return before, now


@case(Array("h w", low=0, high=1), Array("h w", low=0, high=1), sizes="main", near_zero=2)
def gray_scott(u, v, f=0.04, k=0.06):
    def laplacian(a):
        return np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a

    reaction = u * v * v
    return u + 0.16 * laplacian(u) - reaction + f * (1 - u), v + 0.08 * laplacian(v) + reaction - (
        f + k
    ) * v


@case(U, FIELD, sizes="main", near_zero=4)
def jacobi(p, b):
    for _ in range(2):
        old = p.copy()
        p[1:-1, 1:-1] = (
            old[1:-1, 2:] + old[1:-1, :-2] + old[2:, 1:-1] + old[:-2, 1:-1] - b[1:-1, 1:-1]
        ) / 4
        p[:, 0] = p[:, 1]
        p[-1, :] = 0
    return np.abs(p - old).max()


@case(U, U, U, sizes="main", near_zero=4)
def maxwell(ex, ey, hz):
    ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
    ey[1:, :] += 0.5 * (hz[1:, :] - hz[:-1, :])
    hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] - ey[1:, :-1] + ey[:-1, :-1])


@case(Array("n 3"), Array("n", low=0.1, high=1), sizes="main ones", near_zero=16)
def gravity(position, mass, softening=0.3):
    d = position[None, :, :] - position[:, None, :]
    r2 = (d * d).sum(axis=-1) + softening**2
    pull = mass / (r2 * np.sqrt(r2))
    energy = -0.5 * (mass[:, None] * mass / np.sqrt(r2)).sum()
    return (d * pull[..., None]).sum(axis=1), energy


@case(Array("n 3", written=True), Array("n 3", written=True), Array("n 1", low=1, high=2))
def leapfrog(position, velocity, stiffness, dt=0.05):
    for _ in range(2):
        velocity -= 0.5 * dt * stiffness * position
        position += dt * velocity
        velocity -= 0.5 * dt * stiffness * position
    hit = position < -1.5
    position[...] = np.where(hit, -3 - position, position)
    velocity[...] = np.where(hit, -velocity, velocity)


@case((Array("n"), Array("n"), Array("n")), near_zero=64)
def lorenz(state, dt=0.01):
    def slope(s):
        x, y, z = s
        return 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z

    def moved(s, k, h):
        return tuple(a + h * b for a, b in zip(s, k, strict=True))

    k1 = slope(state)
    k2 = slope(moved(state, k1, dt / 2))
    k3 = slope(moved(state, k2, dt / 2))
    k4 = slope(moved(state, k3, dt))
    return tuple(
        a + dt / 6 * (p + 2 * q + 2 * r + s)
        for a, p, q, r, s in zip(state, k1, k2, k3, k4, strict=True)
    )


@case(Array("n", low=0, high=6), Array("n", low=0, high=0.6), near_zero=8)
def kepler(anomaly, eccentricity):
    e = anomaly + eccentricity * np.sin(anomaly)
    for _ in range(4):
        e = e - (e - eccentricity * np.sin(e) - anomaly) / (1 - eccentricity * np.cos(e))
    return 2 * np.arctan2(
        np.sqrt(1 + eccentricity) * np.sin(e / 2), np.sqrt(1 - eccentricity) * np.cos(e / 2)
    )


@case(Array("n", low=0.4e-6, high=0.8e-6), Array("m", low=3000, high=6000), tolerance=256)
def planck(wavelength, temperature):
    h, c, k = 6.62607015e-34, 299792458.0, 1.380649e-23
    x = h * c / k / (wavelength[:, None] * temperature)
    return 1 / np.expm1(x), np.exp(-x)


@case([Array("n", low=0, high=1), Array("n", low=0, high=1), Array("n", low=0, high=1)])
def epidemic(compartments, beta=0.3, gamma=0.1):
    s, i, r = compartments
    total = s + i + r + 1e-3
    infected, recovered = beta * s * i / total, gamma * i
    return [s - infected, i + infected - recovered, r + recovered]


@case(Array("n m", written=True), Array("n m", "?"), Array("n m"), near_zero=2, oracle="same")
def spiking_neurons(potential, refractory, current, threshold=1.0):
    potential += 0.1 * (current - potential)
    potential[refractory] = 0
    spikes = potential > threshold
    potential[spikes] = -0.5
    return spikes, spikes.sum(axis=1)


@case(Array("n 2"), Array("n 2"), near_zero=32)
def lennard_jones(a, b):
    d = a - b
    r2 = np.maximum((d * d).sum(axis=1), 0.6)
    s6 = r2**-3
    energy = 4 * (s6 * s6 - s6)
    return energy, (24 * (2 * s6 * s6 - s6) / r2)[:, None] * d


@case(Array("h w", low=1, high=2), Array("h w"), sizes="main", oracle="same", near_zero=4)
def upwind_advection(q, velocity, dt=0.1):
    flux = np.where(velocity[:, :-1] > 0, q[:, :-1], q[:, 1:]) * velocity[:, :-1]
    out = q.copy()
    out[:, 1:-1] -= dt * (flux[:, 1:] - flux[:, :-1])
    return out


@case(Array("n m", "?"), Array("n m"), sizes="main", dtypes="f", oracle="same")
def ising_sweep(up, noise, temperature=0.5):
    s = np.where(up, 1, -1).astype(np.int8)
    field = np.roll(s, 1, 0) + np.roll(s, -1, 0) + np.roll(s, 1, 1) + np.roll(s, -1, 1)
    flip = (2 * s * field) < noise * temperature
    return np.where(flip, -s, s), s.sum(), flip.mean()
