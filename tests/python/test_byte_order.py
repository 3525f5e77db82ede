"""Values in another machine's byte order become this machine's; arrays on a device have no other."""

from __future__ import annotations

import io

import numpy as np
import pytest

import quern


@pytest.mark.parametrize("letter", ["h", "I", "q", "e", "f", "d", "F", "D"])
def test_conversions(device, letter, make):
    swapped = np.dtype(letter).newbyteorder("S")
    values = make((3, 4), letter).astype(swapped)
    for source in (values, values.T, values[::2, 1:], values[0, 0]):
        for convert in (quern.asarray, quern.array, quern.asanyarray, quern.ascontiguousarray):
            got = convert(source)
            assert got.dtype == np.dtype(letter)
            np.testing.assert_array_equal(got.get().reshape(source.shape), source)
    np.testing.assert_array_equal(quern.array([values, values]).get(), [values, values])
    np.testing.assert_array_equal((quern.asarray(values) + 1).get(), values + 1)
    target = quern.zeros((3, 4), letter)
    target[...] = values
    np.testing.assert_array_equal(target.get(), values)
    assert quern.asarray(values, dtype="F").dtype == np.complex64


def test_indices(device):
    a = quern.arange(10) * 2
    at = np.array([0, 7, 3], np.dtype("i4").newbyteorder("S"))
    np.testing.assert_array_equal(a[at].get(), [0, 14, 6])
    np.testing.assert_array_equal(a.take(at).get(), [0, 14, 6])
    a[at] = 1
    np.testing.assert_array_equal(a[at].get(), [1, 1, 1])


def test_bytes_and_files(device, tmp_path):
    values = np.arange(6, dtype=">i4")
    assert quern.frombuffer(values.tobytes(), ">i4").tolist() == values.tolist()
    values.tofile(tmp_path / "plain")
    assert quern.fromfile(tmp_path / "plain", ">i4").tolist() == values.tolist()
    kept = io.BytesIO()
    np.save(kept, values)
    kept.seek(0)
    assert quern.load(kept).tolist() == values.tolist()
    kept = io.BytesIO()
    np.savez(kept, x=values)
    kept.seek(0)
    assert quern.load(kept)["x"].tolist() == values.tolist()


def test_refusals(device):
    values = np.arange(3, dtype=np.dtype("i4").newbyteorder("S"))
    with pytest.raises(ValueError, match="copy"):
        quern.asarray(values, copy=False)
    with pytest.raises(TypeError, match="byte-order"):
        quern.zeros(3, values.dtype)


def test_unsupported_dtypes_are_of_both_kinds(device):
    for wrong in (np.array([1, "a"], object), np.array(["a"]), np.zeros(2, "i4,f4")):
        for kind in (TypeError, ValueError, quern.UnsupportedDtypeError):
            with pytest.raises(kind, match="Unsupported dtype"):
                quern.asarray(wrong)
