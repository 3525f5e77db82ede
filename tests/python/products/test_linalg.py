"""linalg's products and norms against NumPy; what comes later says so."""

import numpy as np
import pytest

import quern


def check(name, *args, rtol=1e-6, **kwargs):
    given = [quern.asarray(x) if isinstance(x, np.ndarray) else x for x in args]
    theirs = getattr(np.linalg, name)(*args, **kwargs)
    ours = getattr(quern.linalg, name)(*given, **kwargs)
    assert (ours.shape, ours.dtype) == (np.shape(theirs), theirs.dtype)
    np.testing.assert_allclose(ours.get(), theirs, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("letter", "bfdD")
def test_products(device, make, letter):
    a, b = make((4, 3, 3), letter), make((4, 3, 3), letter, seed=1)
    check("matmul", a, b)
    check("tensordot", a[0], b[1], axes=1)
    check("vecdot", a, b, axis=1)
    check("cross", a, b)
    check("cross", a, b, axis=1)
    check("outer", a[0, 0], b[0, 1])
    for offset in (-1, 0, 2):
        check("diagonal", a, offset=offset)
        check("trace", a, offset=offset)
    check("matrix_transpose", a)
    for n in (0, 1, 2, 3, 6):
        check("matrix_power", a, n)
    with pytest.raises(ValueError, match="one-dimensional"):
        quern.linalg.outer(quern.ones((2, 2)), quern.ones(2))
    with pytest.raises(ValueError, match="3-dimensional"):
        quern.linalg.cross(quern.ones(2), quern.ones(2))
    for bad in (quern.ones(3), quern.ones((2, 3))):
        with pytest.raises(quern.linalg.LinAlgError):
            quern.linalg.matrix_power(bad, 2)
    with pytest.raises(TypeError):
        quern.linalg.matrix_power(quern.ones((2, 2)), 1.5)
    with pytest.raises(NotImplementedError, match="comes later"):
        quern.linalg.matrix_power(quern.ones((2, 2)), -1)


def test_products_of_many(device, make):
    shapes = [(5, 2), (2, 7), (7, 3), (3, 4)]
    given = [make(s, "d", seed=k) for k, s in enumerate(shapes)]
    for first in (given[0], given[0][0]):
        for last in (given[-1], given[-1][:, 0]):
            for middle in (given[1:-1], [given[1][:, :3]], []):
                arrays = [first, *middle, last]
                if not middle:
                    arrays = [first, make((2, 3) if last.ndim == 2 else (2,), "d")]
                theirs = np.linalg.multi_dot(arrays)
                mine = [quern.asarray(x) for x in arrays]
                np.testing.assert_allclose(quern.linalg.multi_dot(mine).get(), theirs, rtol=1e-12)
                out = quern.empty(np.shape(theirs))
                assert quern.linalg.multi_dot(mine, out=out) is out
                np.testing.assert_allclose(out.get(), theirs, rtol=1e-12)
    with pytest.raises(ValueError, match="at least two"):
        quern.linalg.multi_dot([mine[0]])
    with pytest.raises(quern.linalg.LinAlgError):
        quern.linalg.multi_dot([quern.ones((2, 2, 2)), quern.ones((2, 2)), quern.ones((2, 2))])


@pytest.mark.parametrize("letter", "bfdD")
def test_norms(device, make, letter):
    a = make((3, 4, 5), letter) + np.array(0, letter)
    for keepdims in (False, True):
        check("norm", a, keepdims=keepdims)
        check("norm", a[0], "fro", keepdims=keepdims)
        for order in (None, np.inf, -np.inf, 0, 1, 2, -1, 3, 0.5):
            check("norm", a, order, 1, keepdims, rtol=1e-4)
            check("norm", a[0, 0], order, None, keepdims, rtol=1e-4)
        for order in (np.inf, 0, 2, 3):
            check("vector_norm", a, axis=(0, 2), ord=order, keepdims=keepdims, rtol=1e-4)
            check("vector_norm", a, ord=order, keepdims=keepdims, rtol=1e-4)
        for order in (None, "fro", 1, -1, np.inf, -np.inf):
            for axes in ((0, 1), (2, 0), (-1, -2)):
                check("norm", a, order, axes, keepdims)
        for order in ("fro", 1, -np.inf):
            check("matrix_norm", a, ord=order, keepdims=keepdims)
    check("norm", a[:0, 0], 1)


def test_norms_that_are_none(device):
    a = quern.ones((2, 3, 4))
    for order, axis in (("nuc", 0), (3, (0, 1)), (None, (1, 1)), (1, None), (1, (0, 1, 2))):
        with pytest.raises(ValueError, match=r"norm|axes"):
            quern.linalg.norm(a, order, axis)
    for order in (2, -2, "nuc"):
        with pytest.raises(NotImplementedError, match="comes later"):
            quern.linalg.norm(a[0], order)
    with pytest.raises(TypeError, match="axis"):
        quern.linalg.norm(a, axis=1.5)
    with pytest.raises(AttributeError, match="comes later"):
        _ = quern.linalg.svd
