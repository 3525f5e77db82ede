"""The exceptions: their places in Python's hierarchy, attributes, pickles."""

import io
import pickle

import pytest

import quern


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (quern.SpecError, ValueError), (quern.ResolveError, TypeError), (quern.UndecidedTypeError, KeyError),
        (quern.UndecidedTypeError, quern.ResolveError), (quern.CompileError, RuntimeError),
        (quern.DriverError, RuntimeError), (quern.OutOfMemoryError, MemoryError),
    ],
)  # fmt: skip
def test_hierarchy(error, builtin):
    assert issubclass(error, builtin)
    assert issubclass(error, quern.Error)
    assert str(error("two\nlines 'quoted'")) == "two\nlines 'quoted'"


def test_compile_error():
    error = quern.CompileError("line 2: no", "saxpy", "first\nsecond", "the log")
    back = pickle.loads(pickle.dumps(error))
    for one in (error, back):
        assert (str(one), one.name, one.source, one.log) == (
            "line 2: no",
            "saxpy",
            "first\nsecond",
            "the log",
        )
        assert one.get_message() == "line 2: no"
    text = io.StringIO()
    error.dump(text)
    assert "2 second" in text.getvalue()
    assert "the log" in text.getvalue()


def test_driver_error():
    error = quern.DriverError("launch failed", 1, "CUDA_ERROR_INVALID_VALUE")
    back = pickle.loads(pickle.dumps(error))
    assert (str(back), back.code, back.name) == ("launch failed", 1, "CUDA_ERROR_INVALID_VALUE")


def test_axis_errors_are_numpys(device):
    with pytest.raises(ValueError, match="out of bounds") as error:
        quern.zeros((2, 3)).swapaxes(0, 5)
    assert isinstance(error.value, IndexError)
    assert error.value.axis == 5
