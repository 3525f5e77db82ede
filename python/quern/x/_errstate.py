"""What is done about floating-point errors and about failures of linear algebra, under CuPy's names."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["errstate", "geterr", "seterr"]

_linalg: ContextVar[str] = ContextVar("quern.x.errstate", default="ignore")


def geterr() -> dict[str, str | None]:
    """The settings that `seterr` takes. Source: CuPy, `cupyx.geterr`."""
    return {"divide": None, "over": None, "under": None, "invalid": None, "linalg": _linalg.get()}


def seterr(
    *,
    divide: None = None,
    over: None = None,
    under: None = None,
    invalid: None = None,
    linalg: str | None = None,
) -> dict[str, str | None]:
    """Say what is done when a routine of `linalg` fails: 'ignore' or 'raise'. Returns the settings before.

    No routine of `quern.linalg` that is there asks it yet; programs that set it run. Kernels report no floating-point
    errors, so that the other settings can only be None.
    Raises: NotImplementedError for what cannot be had.
    Source: CuPy, `cupyx.seterr`.
    """
    for name, value in (("divide", divide), ("over", over), ("under", under), ("invalid", invalid)):
        if value is not None:
            raise NotImplementedError(
                f"{name}={value!r}: kernels report no floating-point errors; it can only be None"
            )
    if linalg not in (None, "ignore", "raise"):
        raise NotImplementedError(f"linalg can be 'ignore' or 'raise', not {linalg!r}")
    before = geterr()
    if linalg is not None:
        _linalg.set(linalg)
    return before


@contextmanager
def errstate(
    *,
    divide: None = None,
    over: None = None,
    under: None = None,
    invalid: None = None,
    linalg: str | None = None,
) -> Iterator[None]:
    """`seterr` for the length of a with statement. Source: CuPy, `cupyx.errstate`."""
    before = _linalg.get()
    seterr(divide=divide, over=over, under=under, invalid=invalid, linalg=linalg)
    try:
        yield
    finally:
        _linalg.set(before)
