"""quern.testing: NumPy's assertions, on arrays of any device and in lists of them."""

from __future__ import annotations

import numpy as np
import pytest

import quern


def test_equal_arrays_pass(device):
    a = np.random.default_rng(0).standard_normal((3, 4))
    ours = quern.asarray(a)
    quern.testing.assert_array_equal(ours, a)
    quern.testing.assert_array_equal(ours, quern.asarray(a))
    quern.testing.assert_allclose(ours * (1 + 1e-9), a, rtol=1e-8)
    quern.testing.assert_array_less(ours, ours + 1)
    quern.testing.assert_array_almost_equal(ours, a + 1e-9)
    quern.testing.assert_array_max_ulp(ours, a, 1)
    quern.testing.assert_equal({"a": [ours, 1]}, {"a": [a, 1]})
    quern.testing.assert_array_list_equal([ours, ours[0]], (a, a[0]))
    quern.testing.assert_array_almost_equal_nulp(ours, a)
    quern.testing.assert_almost_equal(ours.sum(), a.sum())


def test_what_differs_fails(device):
    ours = quern.arange(6.0)
    for check, other in (
        (quern.testing.assert_array_equal, np.arange(6.0) + (np.arange(6) == 3)),
        (quern.testing.assert_array_equal, np.arange(7.0)),
        (quern.testing.assert_allclose, np.arange(6.0) + 1e-3),
        (quern.testing.assert_array_less, np.arange(6.0)),
    ):
        with pytest.raises(AssertionError):
            check(ours, other)
    with pytest.raises(AssertionError, match="2 arrays beside 1"):
        quern.testing.assert_array_list_equal([ours, ours], [ours])
    with pytest.raises(TypeError, match="list of arrays"):
        quern.testing.assert_array_list_equal(ours, [ours])
    quern.testing.assert_raises(ValueError, ours.reshape, 4)
