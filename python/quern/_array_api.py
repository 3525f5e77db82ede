"""What the Python array API standard asks of a namespace and of its arrays, for code that takes any library's."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from quern import _core

if TYPE_CHECKING:
    from quern._core import DeviceLike, ndarray

__all__ = ["ArrayNamespaceInfo", "array_namespace", "array_namespace_info"]

API_VERSION = "2024.12"
_KNOWN = ("2021.12", "2022.12", "2023.12", API_VERSION)  # each holds what the ones before it had

_KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


class ArrayNamespaceInfo:
    """What quern can do by the array API standard: `quern.__array_namespace_info__()`.

    Source: the array API standard, "Inspection APIs".
    """

    __module__ = "quern"

    def capabilities(self) -> dict[str, Any]:
        """Whether masks may index, whether shapes may hang on values, and how many axes an array may have."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> _core.Device:
        """The device on which arrays are made unless another is named: the current one."""
        return _core.Device()

    def default_dtypes(self, *, device: DeviceLike = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of what is made of Python's numbers; they are the same on every device."""
        _core.Device(device)  # which complains of one that is not there
        return {
            "real floating": np.dtype(np.float64),
            "complex floating": np.dtype(np.complex128),
            "integral": np.dtype(np.int64),
            "indexing": np.dtype(np.int64),
        }

    def dtypes(
        self, *, device: DeviceLike = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, np.dtype[Any]]:
        """The standard's dtypes, all or those of a kind ("integral", "real floating", ...), or of several.

        Raises: ValueError for a kind that the standard has not.
        """
        _core.Device(device)
        wanted = ("bool", "numeric") if kind is None else kind
        names: dict[str, None] = {}
        for each in (wanted,) if isinstance(wanted, str) else wanted:
            if each not in _KINDS:
                raise ValueError(f"unsupported kind: {each!r}; the standard has {sorted(_KINDS)}")
            names.update(dict.fromkeys(_KINDS[each]))
        return {name: np.dtype(name) for name in names}

    def devices(self) -> list[_core.Device]:
        """The devices of this machine."""
        return [_core.Device(name) for name in _core.device_names()]


def array_namespace_info() -> ArrayNamespaceInfo:
    """What quern can do by the array API standard: devices, dtypes, capabilities."""
    return ArrayNamespaceInfo()


def array_namespace(self: ndarray, *, api_version: str | None = None) -> ModuleType:
    """The module whose functions take this array by the array API standard: quern itself.

    Raises: ValueError for a version of the standard that quern does not keep.
    """
    if api_version is not None and api_version not in _KNOWN:
        raise ValueError(
            f"version {api_version!r} of the array API standard is not one of {', '.join(_KNOWN)}"
        )
    import quern

    return quern
