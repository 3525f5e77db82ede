"""Every loop of every ufunc against NumPy: the ends of each type, NaN, infinities, signed zeros, divisions by zero."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ufunc import oracle

import quern

# Rounded as IEEE says: the same bits as NumPy's.
EXACT = {
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "fmax", "fmin", "fmod", "sqrt", "square",
    "reciprocal",
    "negative", "positive", "absolute", "fabs", "sign", "conjugate", "rint", "floor", "ceil", "trunc", "copysign",
    "nextafter", "heaviside", "ldexp", "frexp", "modf", "spacing", "floor_divide", "remainder", "divmod",
    "degrees", "radians", "rad2deg", "deg2rad",
}  # fmt: skip
# Of complex numbers these are measured in units of the usual ones; test_special_complex_numbers has the rest.
FINITE_COMPLEX = {
    "multiply", "square", "divide", "reciprocal", "power", "float_power", "exp", "exp2", "expm1", "log", "log2",
    "log10", "log1p",
    "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh",
    "sign", "absolute",
}  # fmt: skip


def as_tuple(found):
    return found if isinstance(found, tuple) else (found,)


def inputs_for(name, letters, seed=0):
    first = oracle.values(letters[0], seed)
    if letters[0] in "FD" and name in FINITE_COMPLEX:
        first = first[np.isfinite(first) & (abs(first) < 1e3) & (abs(first) > 1e-3)]
    if len(letters) == 1:
        return [first]
    second = oracle.values(letters[1], seed + 5)
    if letters[1] in "FD" and name in FINITE_COMPLEX:
        second = second[np.isfinite(second) & (abs(second) < 10) & (abs(second) > 1e-3)]
    if name == "power" and letters[1] in "bhil":
        second = second[second >= 0]
    return [first[:, None], second[None, :]]


def check(name, letters, found, inputs):
    wanted = as_tuple(oracle.numpy_answer(name, *inputs))
    for ours, theirs in zip(as_tuple(found), wanted, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        got = ours.get()
        if theirs.dtype.kind in "biu":
            np.testing.assert_array_equal(got, theirs, err_msg=f"{name} {letters}")
            continue
        real = theirs.dtype.kind != "c"
        if name in EXACT and not set(letters) & set("FD"):
            np.testing.assert_array_equal(
                got.astype("f8"), theirs.astype("f8"), err_msg=f"{name} {letters}"
            )
            number = ~np.isnan(theirs.astype("f8"))
            if name in ("maximum", "minimum", "fmax", "fmin") or (
                name == "sign" and letters == "X"
            ):
                number &= theirs != 0  # of two zeros either may be taken
            if name == "nextafter" and letters[0] == "e":
                number &= theirs != 0  # from a zero to the other NumPy 2.4 stays, C and 2.5 go
            np.testing.assert_array_equal(
                np.signbit(got)[number], np.signbit(theirs)[number], err_msg=f"{name} {letters}"
            )
            continue
        if real:
            special = ~np.isfinite(theirs.astype("f8")) | (theirs == 0)
            np.testing.assert_array_equal(
                got.astype("f8")[special], theirs.astype("f8")[special], err_msg=f"{name} {letters}"
            )
        exact = as_tuple(oracle.numpy_answer(name, *[oracle.wide(x) for x in inputs]))[0]
        away = oracle.units(got, exact)
        usual = np.isfinite(exact) & np.isfinite(theirs.astype("c16"))
        limit = 2 if real else 100 if "power" in name else 24
        if name in ("logaddexp", "logaddexp2") and letters == "dd":
            away = oracle.units_of_size(got, exact, np.maximum(abs(exact), 1))
        worst = np.where(usual, away, 0).max(initial=0)
        assert worst <= limit, f"{name} {letters}: {worst} units"


@pytest.mark.parametrize("name", oracle.UFUNCS)
def test_every_loop(device, name):
    for letters in dict.fromkeys(oracle.loops(name)):
        inputs = inputs_for(name, letters)
        found = getattr(quern, name)(*[quern.asarray(x) for x in inputs])
        check(name, letters, found, inputs)


@pytest.mark.parametrize("letter", "fd")
def test_powers_of_two_at_the_ends(device, letter):
    """ldexp and frexp to the last bit; what grows and falls as e^x near its last finite and first nonzero values."""
    dtype = np.dtype(letter)
    info = np.finfo(dtype)
    random = np.random.default_rng(5)
    count = 20000
    exponents = random.integers(info.minexp - info.nmant, info.maxexp, count)
    x = np.ldexp(random.uniform(-2, 2, count).astype(dtype), exponents)
    by = random.integers(2 * info.minexp, 2 * info.maxexp, count).astype("i4")
    by[:6] = [2**31 - 1, -(2**31), 0, 1, -1, info.minexp]
    given = quern.asarray(x)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(quern.ldexp(given, quern.asarray(by)).get(), np.ldexp(x, by))
        for ours, theirs in zip(quern.frexp(given), np.frexp(x), strict=True):
            np.testing.assert_array_equal(ours.get(), theirs)
        for name, unit in (("exp", 1), ("expm1", 1), ("cosh", 1), ("sinh", 1), ("exp2", np.log(2))):
            ends = random.choice([info.minexp - info.nmant, info.maxexp], count) * np.log(2) / unit
            x = (ends + random.uniform(-2, 2, count)).astype(dtype)
            exact = getattr(np, name)(x.astype("g"))
            found = getattr(quern, name)(quern.asarray(x)).get()
            rounded = exact.astype(dtype)
            away = abs(found - exact) / np.spacing(abs(rounded)).astype("g")
            usual = np.isfinite(rounded) & np.isfinite(found)
            assert away[usual].max() <= 2, name
            other = np.isfinite(rounded) != np.isfinite(found)
            assert np.all(abs(exact[other] / info.max.astype("g") - 1) < 4 * info.eps), name


DOMAIN = {
    "arcsin": (-1, 1), "arccos": (-1, 1), "arctanh": (-1, 1), "arccosh": (1, 1e3), "log": (1e-6, 1e6),
    "log2": (1e-6, 1e6),
    "log10": (1e-6, 1e6), "log1p": (-0.9, 1e6), "exp": (-80, 80), "exp2": (-120, 120), "expm1": (-80, 80),
    "sinh": (-80, 80),
    "cosh": (-80, 80), "tanh": (-10, 10), "sin": (-1e4, 1e4), "cos": (-1e4, 1e4), "tan": (-1e4, 1e4),
    "arctan": (-1e3, 1e3),
    "arcsinh": (-1e4, 1e4), "cbrt": (-1e6, 1e6), "sqrt": (0, 1e9),
}  # fmt: skip


@pytest.mark.parametrize("letter", "eXfd")
@pytest.mark.parametrize("name", DOMAIN)
def test_float_functions_within_two_units(device, name, letter):
    low, high = DOMAIN[name]
    random = np.random.default_rng(3)
    x = random.uniform(low, high, 20000)
    x[:5000] *= 10.0 ** random.uniform(-5, 0, 5000)
    x = np.clip(x, low, high).astype(oracle.dtype_of(letter))
    exact = oracle.numpy_answer(name, oracle.wide(x))
    found = getattr(quern, name)(quern.asarray(x)).get()
    usual = np.isfinite(exact) & np.isfinite(exact.astype(found.dtype).astype("g"))
    assert np.where(usual, oracle.units(found, exact), 0).max() <= 2


@pytest.mark.parametrize("letter", "fd")
@pytest.mark.parametrize("name", ["power", "hypot", "arctan2", "float_power"])
def test_float_functions_of_two_within_two_units(device, name, letter):
    x, y = oracle.finite(letter, seed=1), oracle.finite(letter, seed=2)
    if "power" in name:
        x, y = abs(x), y / 16
    exact = oracle.numpy_answer(name, oracle.wide(x), oracle.wide(y))
    found = getattr(quern, name)(quern.asarray(x), quern.asarray(y)).get()
    usual = (abs(exact) < np.finfo(found.dtype).max) & (abs(exact) > np.finfo(found.dtype).tiny)
    assert np.where(usual, oracle.units(found, exact), 0).max() <= 2


def test_comparisons_are_exact(device):
    signed = np.array([-1, 0, 2**53 + 1, 2**63 - 1], "i8")
    unsigned = np.array([2**64 - 1, 0, 2**53 + 1, 2**53, 2**63], "u8")
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        for a, b in ((signed[:, None], unsigned), (unsigned[:, None], signed)):
            found = getattr(quern, name)(quern.asarray(a), quern.asarray(b))
            np.testing.assert_array_equal(found.get(), getattr(np, name)(a, b))
        for values in (np.array([0, 1, 255], "u1"), np.array([-128, 127], "i1"), signed, unsigned):
            for other in (
                -1,
                0,
                127,
                128,
                300,
                -(2**63),
                2**63,
                2**64 - 1,
                2**64,
                -(10**30),
                10**400,
            ):
                ours, theirs = getattr(quern, name), getattr(np, name)
                np.testing.assert_array_equal(
                    ours(quern.asarray(values), other).get(), theirs(values, other)
                )
                np.testing.assert_array_equal(
                    ours(other, quern.asarray(values)).get(), theirs(other, values)
                )


@pytest.mark.parametrize("letter", "FD")
@pytest.mark.parametrize(
    "name", ["sqrt", "log", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"]
)
def test_branch_cuts(device, name, letter):
    """On the cuts the sign of the zero says which side is meant."""
    along = np.array([-3.0, -1.5, -0.5, 0.5, 1.5, 3.0])
    cuts = []
    for zero in (0.0, -0.0):
        for real, imag in ((along, zero), (zero, along)):
            z = np.empty(along.size, letter)
            z.real, z.imag = real, imag
            cuts.append(z)
    z = np.concatenate(cuts)
    wanted = oracle.numpy_answer(name, z)
    found = getattr(quern, name)(quern.asarray(z)).get()
    tolerance = 1e-5 if letter == "F" else 1e-13
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance / 10)
    large = abs(wanted.imag) > 1e-3
    np.testing.assert_array_equal(np.signbit(found.imag[large]), np.signbit(wanted.imag[large]))


def kinds(parts):
    """Each number as what it is: a NaN, an infinity or a zero with its sign, or a usual one."""
    zeros = np.where(np.signbit(parts), "-0", "+0")
    infinite = np.where(np.signbit(parts), "-inf", "+inf")
    usual = np.where(np.isnan(parts), "nan", np.where(np.isinf(parts), infinite, "usual"))
    return np.where(parts == 0, zeros, usual)


def pairs(parts, letter):
    """Every complex number with two of these parts."""
    z = np.empty((len(parts), len(parts)), letter)
    z.real, z.imag = np.array(parts)[:, None], np.array(parts)
    return z.ravel()


def rounded(name, z):
    """NumPy's answer in the widest type there is, in the dtype of `z`."""
    return oracle.numpy_answer_of(
        lambda wide: getattr(np, name)(wide).astype(z.dtype), oracle.wide(z)
    )


def check_kinds(found, wanted, inputs):
    for ours, theirs in ((found.real, wanted.real), (found.imag, wanted.imag)):
        other = np.nonzero(kinds(ours) != kinds(theirs))
        told = [[*(x[other] for x in inputs), found[other], wanted[other]]]
        assert other[0].size == 0, told


def check_specials(found, wanted, inputs, letter):
    """Infinities, NaN and zeros with their signs are the same, and the rest is close."""
    check_kinds(found, wanted, inputs)
    tolerance = 1e-5 if letter == "F" else 1e-12
    for ours, theirs in ((found.real, wanted.real), (found.imag, wanted.imag)):
        usual = kinds(theirs) == "usual"
        np.testing.assert_allclose(ours[usual], theirs[usual], rtol=tolerance, atol=tolerance / 100)


def check_powers(found, wanted, x, y):
    """Kinds are NumPy's. Finite powers are beside the widest type's, by as much as the rounding of a logarithm makes of
    the exponent: so are NumPy's own.
    """
    check_kinds(found, wanted, [x, y])
    finite = np.isfinite(wanted) & (wanted != 0)
    assert finite.sum() > 500
    x, y = oracle.wide(x[finite]), oracle.wide(y[finite])
    right = oracle.numpy_answer_of(np.power, x, y)
    angle = oracle.numpy_answer_of(lambda: np.where(y == 0, 0, abs(y * np.log(x))))
    parts = np.finfo(found.dtype)
    bound = 4 * parts.eps * (1 + angle) * abs(right) + 2 * parts.smallest_subnormal
    far = abs(found[finite] - right) > bound
    assert not far.any(), [x[far], y[far], found[finite][far], right[far]]


@pytest.mark.parametrize("letter", "FD")
@pytest.mark.parametrize(
    "name",
    [name for name in oracle.UFUNCS if name in FINITE_COMPLEX and len(oracle.loops(name)[0]) == 1],
)
def test_special_complex_numbers(device, name, letter):
    z = pairs((0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 30.0, np.inf, -np.inf, np.nan), letter)
    wanted = oracle.numpy_answer(name, z)
    check_specials(getattr(quern, name)(quern.asarray(z)).get(), wanted, [z], letter)


@pytest.mark.parametrize("letter", "FD")
@pytest.mark.parametrize(
    "name", ["multiply", "divide", "power", "maximum", "minimum", "fmax", "fmin"]
)
def test_special_complex_numbers_in_twos(device, name, letter):
    z = pairs((0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan), letter)
    w = np.concatenate([z, np.array([3, 4, 5, -3, 100, -100.5, 3 - 2j], letter)])
    x, y = np.meshgrid(w, w)
    wanted = oracle.numpy_answer(name, x, y)
    found = getattr(quern, name)(quern.asarray(x), quern.asarray(y)).get()
    if name == "power":
        # At an angle of NaN C leaves the signs of nothing open. NaN's own has them, which is another on GPUs.
        nothing = (wanted == 0) & (found == 0) & ~(np.isfinite(x) & np.isfinite(y))
        wanted[nothing] = found[nothing] = 0
        check_powers(found, wanted, x, y)
    else:
        check_specials(found, wanted, [x, y], letter)


@pytest.mark.parametrize("letter", "FD")
@pytest.mark.parametrize("name", ["exp", "exp2", "sinh", "cosh", "sin", "cos"])
def test_large_factors_of_small_ones(device, name, letter):
    """A power of e that overflows, times a sine that does not let the product."""
    far = 89 if letter == "F" else 712
    parts = np.array([far, -far, 1e-20 if letter == "F" else 1e-200, 1e-3])
    z = pairs(parts / np.log(2) if name == "exp2" else parts, letter)
    wanted = rounded(name, z)
    check_specials(getattr(quern, name)(quern.asarray(z)).get(), wanted, [z], letter)


@pytest.mark.parametrize("letter", "FD")
def test_next_to_the_poles_of_the_arctangent(device, letter):
    small = 10.0 ** -np.arange(1, 30 if letter == "F" else 300)
    z = np.concatenate([1 + 1j * small, -1 - 1j * small, 1 - 1j * small]).astype(letter)
    for name, at in (("arctanh", z), ("arctan", 1j * z)):
        wanted = rounded(name, at)
        check_specials(getattr(quern, name)(quern.asarray(at)).get(), wanted, [at], letter)


@st.composite
def layouts(draw):
    """A shape, and a NumPy array of it that is a view of another: steps, turned axes, axes of extent 1."""
    shape = tuple(draw(st.lists(st.integers(0, 5), min_size=0, max_size=4)))
    return shape, [draw(view_of(shape)) for _ in range(2)]


@st.composite
def view_of(draw, shape):
    own = [draw(st.sampled_from((n, 1))) for n in shape]
    own = own[draw(st.integers(0, len(own))) :] if draw(st.booleans()) else own
    steps = [draw(st.sampled_from((1, 2, -1, -2))) for _ in own]
    order = draw(st.permutations(range(len(own))))
    seed = draw(st.integers(0, 100))
    return own, steps, order, seed


def build(own, steps, order, seed, dtype):
    random = np.random.default_rng(seed)
    base = np.asarray(random.integers(-50, 50, [own[k] * abs(steps[k]) for k in order])).astype(
        dtype
    )
    where = np.argsort(order)
    slices = tuple(slice(None, None, s) for s in steps)
    host = base.transpose(where)[slices] if own else base
    ours = quern.asarray(base)
    ours = ours.transpose(tuple(int(k) for k in where))[slices] if own else ours
    return host, ours


@settings(max_examples=60, deadline=None)
@given(
    made=layouts(),
    order=st.sampled_from("KCFA"),
    types=st.sampled_from(["fd", "bf", "ll", "eX", "fF"]),
)
def test_layouts(made, order, types):
    _, views = made
    hosts, ours = zip(
        *[build(*v, oracle.dtype_of(t)) for v, t in zip(views, types, strict=True)], strict=True
    )
    wanted = oracle.numpy_answer("multiply", *hosts, order=order)
    found = quern.multiply(*ours, order=order)
    np.testing.assert_array_equal(found.get().astype("c16"), np.asarray(wanted).astype("c16"))
    if found.size > 1:  # where an axis is one long, NumPy's releases differ
        long = [d for d, extent in enumerate(found.shape) if extent > 1]
        assert [found.strides[d] for d in long] == [np.asarray(wanted).strides[d] for d in long]


def test_out_where_and_overlap(device):
    x = np.arange(20.0)
    ours = quern.asarray(x)
    out = quern.full((3, 20), 7.0)
    assert quern.add(ours, 1, out) is out
    np.testing.assert_array_equal(out.get(), np.broadcast_to(x + 1, (3, 20)))
    mask = x % 3 == 0
    out = quern.full(20, 7.0)
    assert quern.multiply(ours, 2, out=(out,), where=quern.asarray(mask)) is out
    np.testing.assert_array_equal(out.get(), np.where(mask, 2 * x, 7))
    quern.negative(ours, out=out, where=False)
    np.testing.assert_array_equal(out.get(), np.where(mask, 2 * x, 7))
    # An output that is a shifted view of an input.
    ours = quern.asarray(x)
    quern.add(ours[:-1], ours[:-1], out=ours[1:])
    np.testing.assert_array_equal(ours.get()[1:], 2 * x[:-1])
    ours = quern.asarray(x)
    quern.subtract(ours[::-1], 1, out=ours)
    np.testing.assert_array_equal(ours.get(), x[::-1] - 1)
    # The first of two outputs over the input that the second needs.
    ours = quern.asarray(x / 4 - 2)
    other = quern.empty(20)
    fraction, whole = quern.modf(ours, out=(ours, other))
    assert fraction is ours
    assert whole is other
    np.testing.assert_array_equal(whole.get(), np.modf(x / 4 - 2)[1])
    np.testing.assert_array_equal(fraction.get(), np.modf(x / 4 - 2)[0])
    only_one = quern.empty(20)
    fraction, whole = quern.modf(quern.asarray(x), out=(None, only_one))
    assert whole is only_one
    read_only = quern.broadcast_to(quern.zeros(1), (20,))
    with pytest.raises(ValueError, match="read-only"):
        quern.add(ours, 1, out=read_only)


def test_scalars_alone(device):
    for a, b in (
        (1, 2),
        (1.5, 2),
        (True, False),
        (1j, 2),
        (np.float32(1), np.int8(2)),
        (np.float32(1), 2.5),
    ):
        found = quern.add(a, b)
        assert found.shape == ()
        assert found.dtype == np.add(a, b).dtype
        assert found.get() == np.add(a, b)


def test_negative_powers_of_integer_arrays(device):
    """NumPy raises; here the value would have to be waited for, so the inverse is cut towards zero."""
    bases = quern.asarray(np.array([1, -1, -1, 2, -2, 0]))
    exponents = quern.asarray(np.array([-3, -3, -2, -1, -1, -1]))
    np.testing.assert_array_equal(quern.power(bases, exponents).get(), [1, -1, 1, 0, 0, 0])
