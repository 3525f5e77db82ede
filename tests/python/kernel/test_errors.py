"""Bad input to kernels: the right exception, at once, with the names and the cure; nothing is lost afterwards."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import quern
from quern import ElementwiseKernel

kernel = ElementwiseKernel("T x, T y", "T z", "z = x + y", "plus")


def ones(*shape: int, dtype: str = "f4") -> quern.ndarray:
    return quern.ones(shape, dtype)


@pytest.mark.parametrize(
    ("in_params", "out_params", "text"),
    [
        ("T i", "T y", "i"),
        ("T x, T x", "T y", "x"),
        ("flot32 x", "T y", "flot32"),
        ("const T x", "T y", 'Unknown keyword "const"'),
        ("T", "T y", "Syntax error"),
        ("T x", "T x", "x"),
    ],
)
def test_malformed_parameters(in_params: str, out_params: str, text: str) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        ElementwiseKernel(in_params, out_params, "")
    assert "^" in str(caught.value)


def test_malformed_name() -> None:
    with pytest.raises(ValueError, match='Invalid kernel name: "1a"'):
        ElementwiseKernel("T x", "T y", "y = x", "1a")


@pytest.mark.parametrize(
    ("args", "error", "text"),
    [
        (lambda: (ones(3),), TypeError, "Wrong number of arguments for"),
        (lambda: (ones(3), ones(3, dtype="f8")), TypeError, "T is both float32 and float64"),
        (lambda: (1, 2), TypeError, "T"),
        (lambda: (ones(3), ones(4)), ValueError, r"broadcast together with shapes \(3,\) \(4,\)"),
        (lambda: (ones(3), ones(3), ones(1)), ValueError, "Out shape is mismatched"),
        (lambda: (ones(3), ones(3), ones(3, dtype="f8")), TypeError, "z is float64"),
        (lambda: (ones(3), ones(3), quern.broadcast_to(ones(1), (3,))), ValueError, "read-only"),
        (lambda: (ones(3), np.ones(3, "f4")), TypeError, "Unsupported type"),
        (lambda: (ones(3), [1, 2, 3]), TypeError, "Unsupported type"),
        (lambda: (ones(3), None), TypeError, "Unsupported type"),
        (lambda: (ones(3), "a"), TypeError, "Unsupported type"),
    ],
)
def test_bad_calls(device: quern.Device, args: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        kernel(*args())
    np.testing.assert_array_equal(kernel(ones(3), ones(3)).get(), [2, 2, 2])


def test_undecided_placeholder_is_type_and_key_error(device: quern.Device) -> None:
    with pytest.raises(KeyError) as caught:
        ElementwiseKernel("T a", "raw float32 y", "y[i] = a")(1, ones(3), size=3)
    assert isinstance(caught.value, TypeError)


def test_size_rules(device: quern.Device) -> None:
    with pytest.raises(
        ValueError, match="Specified 'size' can be used only if all of the ndarray are 'raw'"
    ):
        kernel(ones(3), ones(3), size=3)
    with pytest.raises(ValueError, match="Loop size is undecided"):
        ElementwiseKernel("raw T x", "raw T y", "y[i] = x[i]")(ones(3), ones(3))
    with pytest.raises(ValueError, match="Output array size is Undecided"):
        ElementwiseKernel("T x", "raw T y", "y[i] = x")(ones(3))


def test_compile_error_shows_the_users_lines(device: quern.Device) -> None:
    body = "T t = x * 2;\n  z = t + fooo(y);\nt = 3"
    line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
    broken = ElementwiseKernel("T x, T y", "T z", body, "broken")
    with pytest.raises(quern.CompileError) as caught:
        broken(ones(3), ones(3))
    text = str(caught.value)
    assert "operation, line 2, column 11" in text
    assert "   2 |   z = t + fooo(y);\n         |           ^" in text
    assert f"test_errors.py:{line}" in text
    assert "fooo" in text
    assert "fooo" in caught.value.log
    assert "broken" in caught.value.source
    np.testing.assert_array_equal(kernel(ones(3), ones(3)).get(), [2, 2, 2])


def test_compile_error_in_the_preamble(device: quern.Device) -> None:
    broken = ElementwiseKernel(
        "T x", "T y", "y = f(x)", preamble="__device__ float f(float v) {\n    return w;\n}"
    )
    with pytest.raises(quern.CompileError, match="preamble, line 2, column 12"):
        broken(ones(3))


def test_unknown_option_is_named(device: quern.Device) -> None:
    with pytest.raises(Exception, match="--no-such-option"):
        ElementwiseKernel("T x", "T y", "y = x", options=("--no-such-option",))(ones(3))


@pytest.mark.skipif(len(quern._core.device_names()) < 2, reason="one device")
def test_arrays_of_two_devices() -> None:
    names = quern._core.device_names()
    with pytest.raises(ValueError, match="device"):
        kernel(
            quern.asarray(np.ones(3), device=names[0]), quern.asarray(np.ones(3), device=names[-1])
        )
