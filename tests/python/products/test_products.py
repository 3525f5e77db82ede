"""Products of arrays against NumPy in higher precision, on every device: by a BLAS, as reductions, in every layout."""

from __future__ import annotations

import warnings

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quern
from quern import _core

NUMBERS = [np.dtype(c) for c in "bhilBHILefdFD"] + [np.dtype(ml_dtypes.bfloat16)]
DTYPES = [np.dtype(bool), *NUMBERS]
EPSILON = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1.2e-7, "complex64": 1.2e-7}


def sample(shape, dtype, seed):
    random = np.random.default_rng(seed)
    if dtype.kind == "b":
        return random.random(shape) < 0.3
    if dtype.kind in "iu":
        return random.integers(0, 100, shape).astype(dtype)
    values = random.standard_normal(shape)
    if dtype.kind == "c":
        return (values + 1j * random.standard_normal(shape)).astype(dtype)
    return values.astype(dtype)


def wide(values):
    """In a dtype whose sums are exact or far more precise; integers wrap alike."""
    if values.dtype.kind in "biu":
        return values
    return values.astype("D" if values.dtype.kind == "c" else "d")


def check(found, wanted, dtype, terms=1, scale=None):
    assert isinstance(found, quern.ndarray)
    assert found.dtype == dtype
    assert found.shape == np.shape(wanted)
    got = found.get()
    if dtype.kind in "biu":
        np.testing.assert_array_equal(got, wanted)
        return
    epsilon = EPSILON.get(dtype.name, 2.3e-16)
    size = 8.0 if scale is None else scale
    np.testing.assert_allclose(
        wide(got), wanted, rtol=4 * epsilon, atol=epsilon * size * np.sqrt(terms) * 4
    )


LAYOUTS = ["c", "f", "strided", "reversed", "row steps", "transposed rows"]


def laid_out(values, layout, device):
    """A quern array of these values whose memory lies so."""
    if layout in ("c", "f"):
        return quern.asarray(values, order=layout.upper(), device=device)
    if layout == "strided":
        return quern.asarray(np.repeat(values, 2, -1), device=device)[..., ::2]
    if layout == "reversed":
        return quern.asarray(values[..., ::-1].copy(), device=device)[..., ::-1]
    if layout == "row steps":
        return quern.asarray(np.repeat(values, 3, -2), device=device)[..., ::3, :]
    return quern.asarray(np.ascontiguousarray(values.swapaxes(-1, -2)), device=device).swapaxes(
        -1, -2
    )


@pytest.mark.parametrize("dtype", [np.dtype(c) for c in "fdFD"], ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_matrix_by_vector(device, dtype, layout):
    """A matrix of any layout beside rows, columns and plain vectors of any step; two matrices by one vector each."""
    a, v, u = sample((2, 33, 70), dtype, 1), sample((2, 70, 1), dtype, 2), sample((33,), dtype, 3)
    x, y = laid_out(a, layout, device), laid_out(v, layout, device)
    check(x @ y, wide(a) @ wide(v), dtype, 70)
    check(x[1] @ y[1], wide(a[1]) @ wide(v[1]), dtype, 70)
    check(x[0] @ y[0, :, 0], wide(a[0]) @ wide(v[0, :, 0]), dtype, 70)
    back = quern.asarray(np.repeat(u, 2)[::-1].copy(), device=device)[::-2]
    check(back @ x[0], wide(u) @ wide(a[0]), dtype, 33)
    check(back[None] @ x, wide(u)[None] @ wide(a), dtype, 33)
    table = quern.zeros((70, 3), dtype, device=device)
    quern.matmul(back, x[1], out=table[:, 1])
    check(table[:, 1], wide(u) @ wide(a[1]), dtype, 33)
    assert not table[:, ::2].any()


@pytest.mark.parametrize("dtype", [np.dtype(c) for c in "fdFD"], ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(2, 33, 70), (2, 70, 33), (3, 2, 2)], ids=str)
def test_matrix_by_its_own_transpose(device, dtype, layout, shape):
    """Into columns of an array too, whose others stay. On the CPU half is computed, where no operand is copied."""
    a = sample(shape, dtype, 4)
    x, turned, mine = laid_out(a, layout, device), np.swapaxes(a, -1, -2), wide(a)
    for left, right, wanted in ((x, x.mT, mine @ wide(turned)), (x.mT, x, wide(turned) @ mine)):
        found = left @ right
        check(found, wanted, dtype, 70)
        if quern.Device(device).is_cpu and layout in ("c", "row steps", "transposed rows"):
            np.testing.assert_array_equal(found.get(), found.mT.get())
        check(left[1] @ right[1], wanted[1], dtype, 70)
        check(left[0] @ right[1], wide(left[0].get()) @ wide(right[1].get()), dtype, 70)
        n = wanted.shape[-1]
        table = quern.zeros((n, n + 3), dtype, device=device)
        quern.matmul(left[0], right[0], out=table[:, 1:-2])
        check(table[:, 1:-2], wanted[0], dtype, 70)
        assert not table[:, 0].any()
        assert not table[:, -2:].any()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(3, 4, 5), (33, 70, 41), (1, 200, 1), (64, 1, 64)], ids=str)
def test_matmul(device, dtype, shape):
    m, k, n = shape
    a, b = sample((m, k), dtype, 1), sample((k, n), dtype, 2)
    x, y = quern.asarray(a, device=device), quern.asarray(b, device=device)
    with np.errstate(all="ignore"):
        wanted = np.matmul(wide(a), wide(b))
    check(quern.matmul(x, y), wanted, dtype, k)
    check(x @ y, wanted, dtype, k)
    check(x.dot(y), wanted, dtype, k)


@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
def test_layouts_and_batches(device, left, right):
    dtype = np.dtype("f4")
    for batch_a, batch_b in [
        ((), ()),
        ((5,), (5,)),
        ((5,), ()),
        ((), (5,)),
        ((2, 1), (1, 3)),
        ((2, 3), (3,)),
    ]:
        a, b = sample((*batch_a, 34, 27), dtype, 3), sample((*batch_b, 27, 38), dtype, 4)
        x, y = laid_out(a, left, device), laid_out(b, right, device)
        check(x @ y, np.matmul(wide(a), wide(b)), dtype, 27)


@pytest.mark.parametrize("out_layout", LAYOUTS)
@pytest.mark.parametrize("dtypes", ["ff", "fd", "dD", "ii", "il"])
def test_out(device, out_layout, dtypes):
    dtype, into = (np.dtype(c) for c in dtypes)
    a, b = sample((4, 31, 40), dtype, 5), sample((40, 36), dtype, 6)
    x, y = quern.asarray(a, device=device), quern.asarray(b, device=device)
    out = laid_out(np.zeros((4, 31, 36), into), out_layout, device)
    made = quern.matmul(x, y, out=out)
    assert made is out
    check(
        out, np.matmul(wide(a), wide(b)), into, 40, scale=8 if into != "d" or dtype == into else 4e9
    )


def test_an_output_that_is_an_operand(device):
    a = sample((48, 48), np.dtype("d"), 7)
    x = quern.asarray(a, device=device)
    quern.matmul(x, x, out=x)
    check(x, a @ a, a.dtype, 48)
    x = quern.asarray(a, device=device)
    x @= x
    check(x, a @ a, a.dtype, 48)
    small = quern.asarray(a[:4, :4].copy(), device=device)
    quern.matmul(small, small.T, out=small)
    check(small, a[:4, :4] @ a[:4, :4].T, a.dtype, 4)


@pytest.mark.parametrize(
    ("a", "b"),
    [((), ()), ((3,), ()), ((), (2, 3)), ((7,), (7,)), ((4, 7), (7,)), ((7,), (7, 4)), ((2, 4, 7), (7,)),
     ((2, 3, 7), (5, 7, 4)), ((7,), (5, 7, 4)), ((0, 7), (7, 3)), ((3, 0), (0, 4)), ((60, 0), (0, 70))],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["i4", "f4", "c16"])
def test_dot(device, a, b, dtype):
    dtype = np.dtype(dtype)
    x, y = sample(a, dtype, 8), sample(b, dtype, 9)
    wanted = np.dot(wide(np.asarray(x)), wide(np.asarray(y)))
    check(
        quern.dot(quern.asarray(x, device=device), quern.asarray(y, device=device)),
        wanted,
        dtype,
        8,
    )


@pytest.mark.parametrize("dtypes", ["bf", "ih", "fd", "fF", "eH", "?l", "LD"])
def test_mixed_dtypes(device, dtypes):
    left, right = (np.dtype(c) for c in dtypes)
    a, b = sample((40, 50), left, 10), sample((50, 33), right, 11)
    wanted = np.matmul(wide(a), wide(b))
    dtype = np.result_type(left, right)
    scale = 8 if left.kind == right.kind else 1e4
    check(
        quern.asarray(a, device=device) @ quern.asarray(b, device=device), wanted, dtype, 50, scale
    )


def test_vectors(device):
    for dtype in (np.dtype("f4"), np.dtype("D"), np.dtype("i2")):
        a, b = sample((3, 5, 9), dtype, 12), sample((5, 9), dtype, 13)
        m = sample((3, 9, 4), dtype, 14)
        x, y, z = (quern.asarray(v, device=device) for v in (a, b, m))
        w, v, u = wide(a), wide(b), wide(m)
        check(quern.vecdot(x, y), np.sum(w.conj() * v, -1, dtype=w.dtype), dtype, 9)
        check(quern.vecdot(x, y, axis=-2), np.sum(w.conj() * v, -2, dtype=w.dtype), dtype, 5)
        check(quern.matvec(x, x[:, 0, :]), np.einsum("bij,bj->bi", w, w[:, 0]), dtype, 9)
        check(quern.vecmat(x[:, 0, :], z), np.einsum("bj,bji->bi", w[:, 0].conj(), u), dtype, 9)
        check(quern.vdot(x, x), np.sum(w.conj() * w, dtype=w.dtype), dtype, 135, 64)
        z, u = (np.transpose(of[:, ::2, :4], (1, 2, 0)) for of in (z, u))
        for p, q, by, to in ((x.T, x.T, w.T, w.T), (z, z[::-1], u, u[::-1]), (z, z.T, u, u.T)):
            wanted = np.sum(by.ravel().conj() * to.ravel(), dtype=w.dtype)
            check(quern.vdot(p, q), wanted, dtype, p.size, 64)
        check(quern.vdot(x[0, 0, 0], y[0, 0]), w[0, 0, 0].conj() * v[0, 0], dtype)
        check(quern.inner(x, y), np.inner(w, v), dtype, 9)
        check(quern.outer(x, y), np.outer(w, v), dtype)
        check(quern.kron(x, y), np.kron(w, v), dtype)


@pytest.mark.parametrize(
    "axes", [0, 1, 2, ([0, 1], [1, 0]), (1, 0), ([2, 0], [2, 1]), ((-1,), (-1,))], ids=str
)
def test_tensordot(device, axes):
    a, b = sample((4, 4, 4), np.dtype("d"), 15), sample((4, 4, 4), np.dtype("d"), 16)
    found = quern.tensordot(quern.asarray(a, device=device), quern.asarray(b, device=device), axes)
    check(found, np.tensordot(a, b, axes), a.dtype, 16)


def third_is_zero(vectors):
    lead = vectors.shape[:-1]
    if vectors.shape[-1] == 3:
        return vectors
    return np.concatenate([vectors, np.zeros((*lead, 1), vectors.dtype)], -1)


@pytest.mark.parametrize(
    ("left", "right"), [((3,), (3,)), ((5, 3), (5, 2)), ((2,), (4, 3)), ((5, 2), (2,))]
)
def test_cross(device, left, right):
    for dtype in (np.dtype("i8"), np.dtype("f8"), np.dtype("c16")):
        a, b = sample(left, dtype, 17), sample(right, dtype, 18)
        wanted = np.cross(third_is_zero(a), third_is_zero(b))
        if left[-1] == right[-1] == 2:  # NumPy no longer takes them, CuPy does
            wanted = wanted[..., 2]
        x, y = quern.asarray(a, device=device), quern.asarray(b, device=device)
        check(quern.cross(x, y), wanted, dtype)
    a = np.array([[1.5, np.nan, -2], [np.nan, 3, 0.5], [2, 1, np.inf]])
    x = quern.asarray(a, device=device)
    p, q = a[:2].T, a[1:].T
    third = p[0] * q[1] - p[1] * q[0]
    for left, right, first, second in (
        (slice(2), slice(3), p[1] * q[2], -p[0] * q[2]),
        (slice(3), slice(2), -p[2] * q[1], p[2] * q[0]),
    ):  # what is not there is not multiplied by
        found = quern.cross(x[:2, left], x[1:, right]).get()
        np.testing.assert_array_equal(found, np.stack((first, second, third), -1))
    a = sample((3, 6), np.dtype("d"), 19)
    x = quern.asarray(a, device=device)
    check(quern.cross(x, x[::-1], axis=0), np.cross(a, a[::-1], axis=0), a.dtype)
    check(quern.cross(x, x[::-1], 0, 0, 1), np.cross(a, a[::-1], 0, 0, 1), a.dtype)


def test_axes(device):
    a, b = sample((5, 3, 4), np.dtype("d"), 20), sample((4, 6, 5), np.dtype("d"), 21)
    x, y = quern.asarray(a, device=device), quern.asarray(b, device=device)
    axes = [(1, 2), (0, 1), (2, 0)]
    check(quern.matmul(x, y, axes=axes), np.matmul(a, b, axes=axes), a.dtype, 4)


def test_numpys_matmul_comes_here(device):
    a = sample((5, 5), np.dtype("d"), 22)
    x = quern.asarray(a, device=device)
    check(np.matmul(x, x), a @ a, a.dtype, 5)
    check(x.__matmul__(x), a @ a, a.dtype, 5)


EINSUMS = [
    "ij,jk->ik", "ij,jk", "ji,kj->ik", "ii->i", "ii", "ij->ji", "ij->", "ij->j", "i,i", "i,j->ij", "ij,ij->ij",
    "ij,ij->", "ijk,ikl->ijl", "ijk,jil->kl", "bij,bjk->bik", "...ij,...jk->...ik", "i...->...", "...,...",
    "ij,jk,kl->il", "ij,kj,k->i", "abcd,cdef->abef", "abc,cd,bd->a", "ijk->kji", "iij->j", "ab,b,c->ac",
    "ijkl,lk->ij", "i,ij,j", "ea,fb,abcd,gc,hd->efgh", "ij,ik->ijk", "a,b->ba", "ijj,jk->ik",
]  # fmt: skip
EXTENTS = {c: n for c, n in zip("abcdefghijkl", [3, 4, 5, 2, 3, 4, 2, 3, 4, 4, 4, 5], strict=True)}


@pytest.mark.parametrize("subscripts", EINSUMS)
def test_einsum(device, subscripts):
    for dtype in (np.dtype("d"), np.dtype("F"), np.dtype("i4"), np.dtype(bool)):
        values = []
        for k, names in enumerate(subscripts.split("->")[0].split(",")):
            shape = [EXTENTS[c] for c in names.replace("...", "ab")]
            if subscripts == "i...->...":
                shape = [4, 2, 3]
            values.append(sample(tuple(shape), dtype, 30 + k))
        given = [quern.asarray(v, device=device) for v in values]
        wanted = np.einsum(subscripts, *(wide(v) for v in values))
        check(quern.einsum(subscripts, *given), wanted, dtype, 200, 64)
        out = quern.empty(wanted.shape, dtype, device=device)
        assert quern.einsum(subscripts, *given, out=out) is out
        check(out, wanted, dtype, 200, 64)


def test_einsum_by_lists_views_and_large_operands(device):
    a, b = sample((60, 70), np.dtype("f4"), 40), sample((70, 80), np.dtype("f4"), 41)
    x, y = quern.asarray(a, device=device), quern.asarray(b, device=device)
    check(
        quern.einsum(x, [0, 1], y, [1, 2], [2, 0]),
        np.einsum(wide(a), [0, 1], wide(b), [1, 2], [2, 0]),
        a.dtype,
        70,
    )
    check(quern.einsum(x, [0, 1], y, [1, 2]), wide(a) @ wide(b), a.dtype, 70)
    check(quern.einsum("ij,jk->ki", x, y, dtype="d"), (wide(a) @ wide(b)).T, np.dtype("d"), 70)
    square = quern.zeros((4, 4), device=device)
    quern.einsum("ii->i", square)[...] = 1
    np.testing.assert_array_equal(square.get(), np.eye(4))
    turned = quern.einsum("ij->ji", square, dtype="f4", order="C")  # NumPy's view heeds neither
    assert (turned.dtype, turned.shape) == (square.dtype, (4, 4))
    assert quern.shares_memory(turned, square)
    assert quern.einsum("->", 2, dtype="f4").dtype == np.einsum("->", 2, dtype="f4").dtype
    assert (
        quern.einsum_path("ij,jk,kl->il", x, y, y.T)[0]
        == np.einsum_path("ij,jk,kl->il", a, b, b.T)[0]
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_einsums_of_any_shape(data):
    letters = "abcde"
    extents = {
        c: data.draw(st.integers(1, 40)) if c < "c" else data.draw(st.integers(0, 5))
        for c in letters
    }
    count = data.draw(st.integers(1, 3))
    groups = [
        data.draw(st.lists(st.sampled_from(letters), max_size=3, unique=True)) for _ in range(count)
    ]
    present = sorted({c for group in groups for c in group})
    output = data.draw(st.permutations(present))[: data.draw(st.integers(0, len(present)))]
    values = []
    for k, group in enumerate(groups):
        shape = [1 if data.draw(st.integers(0, 9)) == 0 else extents[c] for c in group]
        values.append(sample(tuple(shape), np.dtype("d"), k))
    text = ",".join("".join(g) for g in groups) + "->" + "".join(output)
    try:
        wanted = np.einsum(text, *values)
    except ValueError:
        with pytest.raises(ValueError):  # noqa: PT011
            quern.einsum(text, *(quern.asarray(v) for v in values))
        return
    check(quern.einsum(text, *(quern.asarray(v) for v in values)), wanted, np.dtype("d"), 1600, 64)


@pytest.mark.parametrize(
    ("function", "shapes", "error"),
    [
        ("matmul", [(3, 4), (5, 6)], ValueError),
        ("matmul", [(), (3,)], ValueError),
        ("matmul", [(2, 3, 4), (3, 4, 5)], ValueError),
        ("dot", [(3, 4), (3, 4)], ValueError),
        ("inner", [(3, 4), (3, 5)], ValueError),
        ("vdot", [(3,), (4,)], ValueError),
        ("tensordot", [(3, 4), (4, 3)], ValueError),
        ("cross", [(4,), (4,)], ValueError),
        ("vecdot", [(3,), (4,)], ValueError),
    ],
)
def test_shapes_that_do_not_fit(device, function, shapes, error):
    with pytest.raises(error):
        getattr(np, function)(*(np.ones(s) for s in shapes))
    with pytest.raises(error):
        getattr(quern, function)(*(quern.ones(s, device=device) for s in shapes))


@pytest.mark.parametrize("number", [2, 2.5, True, 1j, np.float32(3)], ids=repr)
def test_numbers_are_no_matrices(device, number):
    """As matmul says; which operand it is comes with it."""
    for values in (np.ones((3, 3)), quern.ones((3, 3), device=device)):
        with pytest.raises(ValueError, match="operand 1 does not have enough dimensions"):
            values @ number
        with pytest.raises(ValueError, match="operand 0 does not have enough dimensions"):
            number @ values


@pytest.mark.parametrize(
    "subscripts",
    [
        "ij,jk->il",
        "ij->ijk",
        "i",
        "ijk",
        "ij,j->iji",
        "i1",
        "ij-",
        "i,j,k",
        "ij>ji",
        "...i->i",
        "ij->i...",
    ],
)
def test_subscripts_that_do_not_fit(device, subscripts):
    arrays = [np.ones((2, 3)), np.ones(3)][: 1 + ("," in subscripts)]
    for module, values in (
        (np, arrays),
        (quern, [quern.asarray(a, device=device) for a in arrays]),
    ):
        try:
            module.einsum(subscripts, *values)
        except ValueError:
            continue
        assert subscripts == "ij->i..."


@pytest.mark.parametrize("subscripts", ["i->", "i,i->i"])
def test_castings_that_there_are_not(device, subscripts):
    values = [quern.ones(3, device=device)] * (1 + ("," in subscripts))
    with pytest.raises(ValueError, match="casting must be one of"):
        quern.einsum(subscripts, *values, casting="saef")


@pytest.mark.parametrize("b", [3, 2.5, 1j, np.float32(2), True, [1, 2, 3], [[1.0], [2], [3]]], ids=str)
def test_dot_of_what_is_no_array(device, b):
    a = np.arange(12.0).reshape(4, 3)
    ours, wanted = quern.asarray(a, device=device).dot(b), a.dot(b)
    check(ours, wanted, wanted.dtype, 3)
    with pytest.raises(TypeError):
        quern.asarray(a, device=device).dot(a.T)


def test_outputs_that_do_not_fit(device):
    a = quern.ones((3, 3), device=device)
    with pytest.raises(ValueError, match="out is"):
        quern.matmul(a, a, out=quern.empty((3, 4), device=device))
    with pytest.raises(TypeError, match="same_kind"):
        quern.matmul(a, a, out=quern.empty((3, 3), "i4", device=device))
    with pytest.raises(ValueError, match="acceptable"):
        quern.dot(a, a, out=quern.empty((3, 3), "f4", device=device))
    with pytest.raises(TypeError):
        quern.matmul(a, np.ones((3, 3)))
    check(a @ a, np.full((3, 3), 3.0), np.dtype("d"))


def test_who_multiplies(device):
    """Large matrices go to the device's library, the rest is one launch."""

    def explain(a, b):
        return _core._explain_contract(a, [0, 1], b, [1, 2], [0, 2])

    square = quern.ones((64, 64), "f4", device=device)
    assert "blas" in explain(square, square).lower()
    assert "multiply" in _core._explain_contract(square[0], [0], square[1], [1], [0, 1])
    by_vector = explain(square, square[:, :1]).lower()
    assert ("blas" if quern.Device(device).is_cpu else "quern_product") in by_vector
    assert "quern_product" in explain(square, quern.ones((64, 1), "f8", device=device))
    whole = quern.ones((64, 64), "i4", device=device)
    assert "quern_product" in explain(whole, whole)
    if quern.Device(device).is_cpu:
        assert "columns" in explain(whole[:1], whole)
        assert "columns" in explain(whole.T, whole[:, :1])


def test_matmul_into_any_dtype_where_asked(device):
    rng = np.random.default_rng(11)
    for left, right, into in [
        ("f8", "f4", "i4"),
        ("i4", "u2", "?"),
        ("D", "d", "f4"),
        ("e", "i1", "u1"),
    ]:
        a, b = (
            rng.integers(0, 5, shape).astype(t) for shape, t in (((2, 3, 4), left), ((4, 2), right))
        )
        wanted, out = np.zeros((2, 3, 2), into), quern.zeros((2, 3, 2), into)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            np.matmul(a, b, out=wanted, casting="unsafe")
            made = quern.matmul(quern.asarray(a), quern.asarray(b), out=out, casting="unsafe")
        assert made is out
        np.testing.assert_array_equal(out.get(), wanted)
        with pytest.raises(ValueError, match="shape"):
            quern.matmul(
                quern.asarray(a), quern.asarray(b), out=quern.zeros((1, 2, 3, 2)), casting="unsafe"
            )
