"""Functions that the CPU computes without the C library, over random bits: every exponent, numbers too large for their
quick way, and what is special, one lane beside the other."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from ufunc import oracle

import quern

COUNT = 60_000
KNOWN = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.0, -0.5, 8.0)


def any_bits(letter, seed, count=COUNT):
    """Any numbers of a type, then numbers of the usual sizes, then some around 1 and what is special."""
    random = np.random.default_rng(seed)
    dtype = np.dtype(letter)
    x = random.integers(0, 2 ** (8 * dtype.itemsize), count, f"u{dtype.itemsize}").view(dtype)
    x[::3] = random.normal(0, 3, x[::3].size)
    some = x[1::6].size
    x[1::6] = 1 + random.choice([-1, 1], some) * np.exp2(-random.uniform(0, 60, some))
    x[-len(KNOWN) :] = KNOWN
    return x


def check_units(name, inputs, limit=2.0):
    found = getattr(quern, name)(*[quern.asarray(x) for x in inputs]).get()
    with np.errstate(all="ignore"):
        exact = np.asarray(getattr(np, name)(*[oracle.wide(x) for x in inputs]))
        rounded = exact.astype(found.dtype)
        theirs = getattr(np, name)(*inputs)
    special = ~np.isfinite(rounded) | (rounded == 0)
    np.testing.assert_array_equal(found[special], rounded[special], err_msg=name)
    zero = theirs == 0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(theirs[zero]), err_msg=name)
    away = np.where(special, 0, oracle.units(found, exact))
    worst = int(away.argmax())
    assert away[worst] <= limit, f"{name} of {[x[worst] for x in inputs]}: {away[worst]} units"


@pytest.mark.parametrize("letter", "fd")
@pytest.mark.parametrize(
    "name",
    [
        "sin", "cos", "tan", "arcsin", "arccos", "arcsinh", "arccosh", "arctanh", "tanh", "sinh", "cosh", "cbrt", "exp",
        "exp2", "expm1", "log", "log10",
    ],
)  # fmt: skip
def test_any_number(device, name, letter):
    check_units(name, [any_bits(letter, 1)])


def any_integers(letter, seed, count=COUNT):
    """Of every number of bits, and ends of the range."""
    random = np.random.default_rng(seed)
    info = np.iinfo(letter)
    x = random.integers(info.min, info.max, count, letter, endpoint=True)
    x >>= random.integers(0, info.bits, count).astype(letter)
    ends = {info.min, info.min + 1, info.min // 2, info.max // 2, info.max // 2 + 1, info.max - 1}
    x[::11] = random.choice(np.array([*ends, info.max, 0, 1, 2, 3, 7], letter), x[::11].size)
    return x


@pytest.mark.parametrize("letter", "bBhHiIqQ")
def test_quotients_of_any_integers(device, letter):
    """Also of what is next to a multiple of the divisor, and of one divisor for all."""
    a, b, q = (any_integers(letter, seed) for seed in (1, 2, 3))
    with np.errstate(all="ignore"):
        a[::3] = (q * b + np.random.default_rng(4).integers(-1, 2, COUNT).astype(letter))[::3]
        if letter in "bB":
            every = np.arange(256).astype(letter)
            a, b = np.repeat(every, 256), np.tile(every, 256)
        least = np.iinfo(letter).min
        one = (*b[:: COUNT // 20], *(a.dtype.type(n) for n in (1, 2, 3, 7, 2**6, least, np.iinfo(letter).max)))
        for divisors in (b, *one, *(n.item() for n in one)):
            ours = quern.asarray(a), divisors if isinstance(divisors, int) else quern.asarray(divisors)
            for name in ("floor_divide", "remainder", "fmod"):
                found = getattr(quern, name)(*ours).get()
                np.testing.assert_array_equal(found, getattr(np, name)(a, divisors), err_msg=name)
            for found, wanted in zip(quern.divmod(*ours), np.divmod(a, divisors), strict=True):
                np.testing.assert_array_equal(found.get(), wanted)


def alike(found, wanted):
    close = abs(found - wanted) <= 4 * quern.finfo(found.dtype).eps * abs(wanted)
    return close | (found == wanted) | ((found != found) & (wanted != wanted))


@pytest.mark.parametrize("letter", "efdFD")
@pytest.mark.parametrize(
    "name",
    [
        "sin", "tan", "arcsin", "arccosh", "arctanh", "log", "log1p", "sinh", "tanh", "hypot", "logaddexp",
        "logaddexp2", "floor_divide", "remainder", "divmod",
    ],
)  # fmt: skip
def test_many_as_few(device, name, letter):
    """GPUs take long functions of many numbers in packs, what is unusual apart; a CPU the last ones not in vectors."""
    ufunc = getattr(quern, name)
    if not any(loop.startswith(letter) for loop in ufunc.types):
        pytest.skip("no such loop")
    few, many = 8192, (1 << 23) + 5
    inputs = []
    for k in range(ufunc.nin):
        x = any_bits(letter.lower(), k, few)
        x[few // 2 :] = np.random.default_rng(k).normal(0, 3, few // 2)
        x[few // 2 :: 97] = KNOWN[k + 2]
        z = np.stack([x, x[::-1]], -1).view(letter.upper())[:, 0] if letter in "FD" else x
        inputs.append(quern.asarray(z))
    copies = [quern.tile(x, many // few + 1)[:many] for x in inputs]
    small, large = ufunc(*inputs), ufunc(*copies)
    for found, of_few in zip(
        *[x if isinstance(x, tuple) else (x,) for x in (large, small)], strict=True
    ):
        wanted = quern.tile(of_few, many // few + 1)[:many]
        assert bool(alike(found, wanted).all())
    if ufunc.nout == 1:  # in place, from within a pack on
        ufunc(*[x[1:] for x in copies], out=copies[0][1:])
        found, wanted = copies[0][1:], large[1:]
        assert bool(alike(found, wanted).all())


@pytest.mark.parametrize("letter", "FD")
def test_logarithms_of_complex_numbers(device, letter):
    """Of every size, and next to the unit circle, where what is left of it is small."""
    random = np.random.default_rng(21)
    real = letter.lower()
    angle = random.uniform(0, 7, 6000)
    size = np.exp(random.uniform(-40, 40, angle.size))
    size[::2] = 1 + random.uniform(-1, 1, size[::2].size) * np.exp(
        -random.uniform(0, 40, size[::2].size)
    )
    x, y = (size * np.cos(angle)).astype(real), (size * np.sin(angle)).astype(real)
    x[::7], y[::7] = 1, np.exp(-random.uniform(0, 40, x[::7].size))
    x[1::14], y[1::14] = y[1::14], x[1::14].copy()
    left = [
        Fraction(float(u)) ** 2 + Fraction(float(v)) ** 2 - 1 for u, v in zip(x, y, strict=True)
    ]
    near_1 = np.array([float(min(part, 9)) for part in left], "g")
    square = np.square(x.astype("g")) + np.square(y.astype("g"))
    exact = np.log(square) / 2
    exact[abs(near_1) < 0.5] = np.log1p(near_1[abs(near_1) < 0.5]) / 2
    found = quern.log(quern.asarray((x + 1j * y).astype(letter))).get()
    away = np.where(abs(found.real - exact) < 2.0**-105, 0, oracle.units(found.real, exact))
    assert away.max() <= 3
    assert oracle.units(found.imag, np.arctan2(y.astype("g"), x.astype("g"))).max() <= 2


@pytest.mark.parametrize("letter", "fd")
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_close_to_quarter_turns(device, name, letter):
    """Where what is left of an angle is small, every digit of pi counts."""
    quarters = (np.arange(1, 40000) * (np.longdouble(np.pi) / 2)).astype(letter)
    far = np.array([1e5, 1e9, 1e12, 1e13, 1e22, 1e38], letter)
    steps = np.concatenate([quarters, np.nextafter(quarters, np.array(0, letter)), far, -far])
    check_units(name, [steps])


@pytest.mark.parametrize("letter", "fd")
@pytest.mark.parametrize("other", [None, 2.0, 0.5, -1.0, 3.0, 0.0, np.inf])
def test_powers(device, other, letter):
    x = any_bits(letter, 2)
    y = any_bits(letter, 3) if other is None else np.full_like(x, other)
    if other is None:
        y[::2] = np.round(y[::2])
    check_units("power", [x, y])


@pytest.mark.parametrize("letter", "fd")
def test_large_powers(device, letter):
    """Results of every size."""
    random = np.random.default_rng(4)
    info = np.finfo(letter)
    x = np.exp(random.uniform(-80, 80, COUNT)).astype(letter)
    x[::2] = 1 + random.uniform(-1, 1, x[::2].size) * np.exp2(-random.uniform(0, 23, x[::2].size))
    with np.errstate(all="ignore"):
        ends = np.log(info.smallest_subnormal) * 1.01, np.log(info.max) * 1.01
        y = (random.uniform(*ends, COUNT) / np.log(x)).astype(letter)
    check_units("power", [x, y])


@pytest.mark.parametrize("letter", "fd")
def test_whole_powers_are_exact(device, letter):
    """Of whole numbers, as long as the type has them all; of negative ones too, and beside what is special."""
    random = np.random.default_rng(17)
    places = np.finfo(letter).nmant + 1
    pairs = [
        (base, exponent)
        for exponent in range(places + 1)
        for base in {
            *range(60),
            *random.integers(1, 2 ** (places / max(exponent, 1)) + 1, 300).tolist(),
        }
        if base**exponent <= 2**places and base <= 2**places
    ]
    random.shuffle(pairs)
    x, y = np.array(pairs, letter).T
    wanted = np.array([base**exponent for base, exponent in pairs], object).astype(letter)
    x[1::3] *= -1
    wanted[1::3] = np.where(y[1::3] % 2 == 1, -wanted[1::3], wanted[1::3])
    for k, special in enumerate(KNOWN):
        x[10 + 7 * k], wanted[10 + 7 * k] = (
            special,
            np.power(np.array(special, letter), y[10 + 7 * k]),
        )
    same(quern.power(quern.asarray(x), quern.asarray(y)).get(), wanted, "power")
    # Inputs with steps, element by element.
    found = quern.power(quern.asarray(np.repeat(x, 2))[::2], quern.asarray(y), dtype=letter)
    same(found.get(), wanted, "power")


@pytest.mark.parametrize("letter", "fd")
@pytest.mark.parametrize(
    "name", ["log", "log10", "cbrt", "arcsinh", "arccosh", "arctanh", "sinh", "exp2"]
)
def test_nothing_usual(device, name, letter):
    """Vectors of numbers that all go the long way."""
    info = np.finfo(letter)
    tiny = (np.random.default_rng(13).uniform(-1, 1, 5000) * info.tiny).astype(letter)
    tiny[::7] = info.smallest_subnormal
    huge = np.exp(np.random.default_rng(14).uniform(60, np.log(info.max) - 1, 5000)).astype(letter)
    check_units(name, [np.concatenate([tiny, huge, -huge, np.repeat(np.array(KNOWN, letter), 70)])])


@pytest.mark.parametrize("letter", "fd")
def test_powers_of_nothing_usual(device, letter):
    random = np.random.default_rng(15)
    info = np.finfo(letter)
    tiny = (random.uniform(-1, 1, 5000) * info.tiny).astype(letter)
    known = np.repeat(np.array(KNOWN, letter), 200)
    x = np.concatenate([tiny, known, -np.abs(any_bits(letter, 16, 5000))])
    y = np.concatenate(
        [random.uniform(-1.1, 1.1, 5000), np.tile(KNOWN, 200), random.integers(-4, 5, 5000)]
    )
    check_units("power", [x, y.astype(letter)])


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_sums_of_powers(device, name):
    """Floats of every distance, those whose sum is close to 0, and what is special, one lane beside the other."""
    random = np.random.default_rng(18)
    x, y = any_bits("f", 19), any_bits("f", 20)
    x[::4] = random.uniform(-1, 1, x[::4].size) * np.exp2(random.uniform(-10, 7, x[::4].size))
    y[::4] = x[::4] - np.exp2(random.uniform(-10, 8, x[::4].size)).astype("f")
    # The larger one nearly takes away what the smaller one brings.
    apart = -np.exp(random.uniform(-3, 4, x[2::8].size))
    gone = -np.log1p(np.exp(apart)) * (1 + np.exp2(-random.uniform(1, 20, apart.size)))
    x[2::8], y[2::8] = gone, gone + apart
    x[-100:] = np.repeat(np.array(KNOWN, "f"), 10)
    y[-100:] = np.tile(np.array(KNOWN, "f"), 10)
    check_units(name, [x, y])


def same(found, wanted, what):
    np.testing.assert_array_equal(found, wanted, err_msg=what)
    number = ~np.isnan(wanted)
    np.testing.assert_array_equal(
        np.signbit(found)[number], np.signbit(wanted)[number], err_msg=what
    )


@pytest.mark.parametrize("letter", "efd")
def test_remainders_of_any_floats(device, letter):
    """Exact, whether the quotient is 0, one that rounding pushes up, or larger than the type can count."""
    random = np.random.default_rng(5)
    x, y = any_bits(letter, 6), any_bits(letter, 7)
    with np.errstate(all="ignore"):
        y[::4] = x[::4] * np.exp2(random.uniform(-30, 5, x[::4].size)).astype(letter)
    x[1::8], y[1::8] = random.integers(-99, 99, x[1::8].size), random.integers(-9, 9, x[1::8].size)
    a, b = quern.asarray(x), quern.asarray(y)
    with np.errstate(all="ignore"):
        for name in ("fmod", "remainder", "floor_divide"):
            same(getattr(quern, name)(a, b).get(), getattr(np, name)(x, y), name)
            same(getattr(quern, name)(a, 0.375).get(), getattr(np, name)(x, 0.375), name)
        for found, wanted in zip(quern.divmod(a, b), np.divmod(x, y), strict=True):
            same(found.get(), wanted, "divmod")


@pytest.mark.parametrize("letter", "bBhHiIlL")
def test_remainders_of_any_integers(device, letter):
    info = np.iinfo(letter)
    if info.bits == 8:
        every = np.arange(info.min, info.max + 1, dtype=letter)
        x, y = np.repeat(every, every.size), np.tile(every, every.size)
    else:
        random = np.random.default_rng(8)
        x, y = (random.integers(info.min, info.max, COUNT, letter, endpoint=True) for _ in "xy")
        y[::2] >>= random.integers(0, info.bits, y[::2].size, letter)
        x[::5] = y[::5] * random.integers(0, 100, y[::5].size).astype(letter)
        x[:4], y[:4] = [info.min, info.min, info.max, 0], [0, -1 if info.min else 1, 1, 0]
    a, b = quern.asarray(x), quern.asarray(y)
    with np.errstate(all="ignore"):
        for name in ("fmod", "remainder", "floor_divide"):
            np.testing.assert_array_equal(
                getattr(quern, name)(a, b).get(), getattr(np, name)(x, y), err_msg=name
            )
        for found, wanted in zip(quern.divmod(a, b), np.divmod(x, y), strict=True):
            np.testing.assert_array_equal(found.get(), wanted)


@pytest.mark.parametrize("letter", "fd")
def test_neighbours_of_any_floats(device, letter):
    x, y = any_bits(letter, 9), any_bits(letter, 10)
    y[::5] = x[::5]
    with np.errstate(all="ignore"):
        a, b = quern.asarray(x), quern.asarray(y)
        same(quern.nextafter(a, b).get(), np.nextafter(x, y), "nextafter")
        same(quern.spacing(a).get(), np.spacing(x), "spacing")


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16])
def test_spacing_of_every_two_byte_float(device, dtype):
    x = np.arange(65536, dtype=np.uint16).view(dtype)
    with np.errstate(all="ignore"):
        wanted = np.spacing(x)
    found = quern.spacing(quern.asarray(x)).get()
    np.testing.assert_array_equal(found.astype("f"), wanted.astype("f"))
    number = wanted == wanted
    np.testing.assert_array_equal(found.view("u2")[number], wanted.view("u2")[number])


def test_masked_and_strided(device):
    """Lanes that are not written may hold anything; columns are not read in vectors at all."""
    x = any_bits("d", 11, 30_000)
    mask = np.random.default_rng(12).integers(0, 2, x.size).astype(bool)
    out = quern.full_like(quern.asarray(x), 7.0)
    quern.tan(quern.asarray(x), out=out, where=quern.asarray(mask))
    with np.errstate(all="ignore"):
        wanted = np.where(mask, np.tan(x), 7.0)
        np.testing.assert_allclose(out.get(), wanted, rtol=1e-15)
        columns = quern.asarray(x).reshape(-1, 3)[:, 1]
        np.testing.assert_allclose(quern.tan(columns).get(), np.tan(x[1::3]), rtol=1e-15)


@pytest.mark.parametrize("letter", "fd")
def test_bessel(device, letter):
    """Against the series, whose terms are all positive."""
    x = np.concatenate([np.linspace(-30, 30, 5001), np.linspace(30, 80, 500), [0.0, 11.0, 1e-9]])
    x = x.astype(letter)
    term = total = np.ones(x.size, np.longdouble)
    for k in range(1, 400):
        term = term * (oracle.wide(x) / 2 / k) ** 2
        total = total + term
    assert oracle.units(quern.i0(quern.asarray(x)).get(), total).max() <= 6
    ends = quern.i0(quern.asarray(np.array([np.inf, -np.inf, np.nan, 800.0], letter))).get()
    np.testing.assert_array_equal(ends, np.array([np.inf, np.inf, np.nan, np.inf], letter))
