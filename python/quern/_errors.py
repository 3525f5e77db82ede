"""The exceptions that quern raises. The C++ core names each kind of error once and finds its class here."""

from __future__ import annotations

from typing import TextIO

__all__ = [
    "CompileError",
    "DeviceSynchronized",
    "DriverError",
    "Error",
    "FusionError",
    "OutOfMemoryError",
    "ResolveError",
    "SpecError",
    "UndecidedTypeError",
    "UnsupportedDtypeError",
]


class Error(Exception):
    """The base of quern's own exceptions; each is also the built-in exception that fits it."""

    def __str__(self) -> str:
        return Exception.__str__(self)  # a KeyError would quote the text


class SpecError(Error, ValueError):
    """A kernel's parameter lists or options are malformed; raised when the kernel is made."""


class ResolveError(Error, TypeError):
    """The types of a call's arguments do not fit the kernel's parameters."""


class FusionError(Error, RuntimeError):
    """A strictly fused function does what no kernel can, such as deciding by an array's values."""


class UndecidedTypeError(ResolveError, KeyError):
    """No argument decides a placeholder, such as the `T` of an output that was not given."""


class UnsupportedDtypeError(Error, TypeError, ValueError):
    """A dtype that no device has; a TypeError as NumPy's are, and a ValueError as CuPy's are."""


class CompileError(Error, RuntimeError):
    """The toolchain refused a kernel. The text shows the user's own lines, numbered, with a caret."""

    name: str
    source: str
    log: str

    def __init__(self, text: str, name: str = "", source: str = "", log: str = "") -> None:
        super().__init__(text)
        self.name = name
        self.source = source
        self.log = log

    def __reduce__(self) -> tuple[type[CompileError], tuple[str, str, str, str]]:
        return type(self), (str(self), self.name, self.source, self.log)

    def get_message(self) -> str:
        """The whole message, as `str(error)`."""
        return str(self)

    def dump(self, file: TextIO) -> None:
        """Write the generated source, its lines numbered, and the toolchain's log to `file`."""
        lines = self.source.splitlines()
        digits = len(str(len(lines)))
        file.write(f"// {self.name}\n")
        for number, line in enumerate(lines, start=1):
            file.write(f"{number:{digits}} {line}\n")
        file.write(f"{self.log.rstrip()}\n")
        file.flush()


class DeviceSynchronized(Error, RuntimeError):
    """A call was about to wait for a device, which `quern.x.allow_synchronize(False)` forbids."""


class DriverError(Error, RuntimeError):
    """The driver refused a call: `name` and `code` are its own, such as CUDA_ERROR_INVALID_VALUE and 1."""

    code: int
    name: str

    def __init__(self, text: str, code: int = 0, name: str = "") -> None:
        super().__init__(text)
        self.code = code
        self.name = name

    def __reduce__(self) -> tuple[type[DriverError], tuple[str, int, str]]:
        return type(self), (str(self), self.code, self.name)


class OutOfMemoryError(Error, MemoryError):
    """A device's memory is exhausted, even after the pool gave back what it could. All figures are bytes."""

    requested_bytes: int
    used_bytes: int
    pool_bytes: int
    limit_bytes: int

    def __init__(
        self,
        text: str,
        requested_bytes: int = 0,
        used_bytes: int = 0,
        pool_bytes: int = 0,
        limit_bytes: int = 0,
    ) -> None:
        super().__init__(text)
        self.requested_bytes = requested_bytes
        self.used_bytes = used_bytes
        self.pool_bytes = pool_bytes
        self.limit_bytes = limit_bytes

    def __reduce__(self) -> tuple[type[OutOfMemoryError], tuple[str, int, int, int, int]]:
        figures = (self.requested_bytes, self.used_bytes, self.pool_bytes, self.limit_bytes)
        return type(self), (str(self), *figures)
