"""Functions of complex numbers."""

import numpy as np
from fuse.corpus.cases import Array, Scalar, case


@case(Array("*"), dtypes="F D", near_zero=4)
def mandelbrot_step(c):
    z = c
    for _ in range(3):
        z = z * z + c
    return z, np.abs(z) > 2


@case(Array("*", low=1, high=2), dtypes="F D", near_zero=1)
def moebius(z):
    return (2 * z + 1j) / (z * (1 - 0.5j) + 3)


@case(Array("*"), dtypes="F D", near_zero=1)
def polar(z):
    r, phase = np.abs(z), np.angle(z)
    return r * np.exp(1j * phase), z.real * z.imag, np.conj(z) * z, (z * z.conj()).real


@case(Array("n m"), Array("m"), dtypes="fF dF Fd fD", near_zero=4)
def rotate(amplitude, phasor):
    return amplitude * phasor.conj(), amplitude + 1j, np.real(phasor) + np.imag(amplitude)


@case(Array("*", low=0.2, high=1.5), dtypes="F D", near_zero=4, tolerance=32)
def complex_functions(z):
    return np.sqrt(z), np.exp(z) + np.log(z), np.sin(z) * np.cos(z), np.tanh(z), z**2


@case(Array("n", low=0.1, high=3), Array("m", low=10, high=20), 1e-2, near_zero=1)
def impedance(frequency, resistance, inductance):
    w = 2 * np.pi * frequency[:, None]
    z = resistance + 1j * w * inductance + 1 / (1j * w)
    return np.abs(z), np.arctan2(z.imag, z.real)


@case(Array("n m"), dtypes="F D", sizes="main", near_zero=16)
def power_and_phase(z):
    power = (z.real**2 + z.imag**2).sum(axis=1)
    return power, z.sum(axis=0), z.mean(), np.sqrt(power)


@case(Array("n", written=True), Array("n"), dtypes="F D", near_zero=4)
def conjugate_in_place(z, w):
    z.imag *= -1
    z += w
    z.real[...] = 0.5
    return z, z.real


@case(Array("*"), Scalar(1 - 2j, "complex64"), dtypes="F D f i", near_zero=8)
def complex_scalar(z, factor):
    return z * factor, (z + 2j) == z, np.isreal(z * 1j)
