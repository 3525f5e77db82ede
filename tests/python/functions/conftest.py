"""One call under NumPy and under quern, compared: values, dtype, shape, and the error where there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from functions.compare import agree, to_quern

import quern


@pytest.fixture
def same(device: quern.Device) -> Callable[..., None]:
    """`same(name, *args, rtol=0, **kwargs)`: quern's function and NumPy's give the same, or raise the same type."""

    def check(name: str, *args: Any, rtol: float = 0, **kwargs: Any) -> None:
        try:
            theirs = getattr(np, name)(*args, **kwargs)
        except Exception as error:
            kind = next(
                k for k in type(error).__mro__ if k.__module__ in ("builtins", "numpy.exceptions")
            )
            if kind is np.exceptions.AxisError:
                kind = (np.exceptions.AxisError, IndexError, ValueError)  # type: ignore[assignment]
            with pytest.raises(kind):
                getattr(quern, name)(*to_quern(args), **to_quern(kwargs))
            return
        agree(getattr(quern, name)(*to_quern(args), **to_quern(kwargs)), theirs, rtol)

    return check
