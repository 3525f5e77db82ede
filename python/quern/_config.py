"""Settings that a program may change while it runs."""

from __future__ import annotations

from typing import Literal

from quern import _core

__all__ = ["Config", "config"]


class Config:
    """The type of `quern.config`."""

    __slots__ = ()

    @property
    def index_check(self) -> Literal["off", "later", "now"]:
        """When an integer index that is out of bounds raises IndexError.

        "later", the default: on the CPU in the call itself, on a GPU in the next call that waits for the device, naming
        the call that had the index. "now": in the call itself everywhere, which then waits for the device. "off":
        never; such an index reads the first element, and writes nothing. Memory outside of an array is not touched in
        any case.
        Raises: ValueError, when it is set to anything else.
        """
        return _core.index_check()

    @index_check.setter
    def index_check(self, when: Literal["off", "later", "now"]) -> None:
        _core.set_index_check(when)

    def __repr__(self) -> str:
        """The settings as they are."""
        return f"quern.config(index_check={self.index_check!r})"


config = Config()
