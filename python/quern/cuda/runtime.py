"""Calls of CUDA's runtime API that scripts use, answered through the driver. Ids are those of `quern.Device`."""

from __future__ import annotations

from typing import TypedDict

from quern import _core

__all__ = [
    "DeviceProperties",
    "cudaAddressModeBorder",
    "cudaAddressModeClamp",
    "cudaAddressModeMirror",
    "cudaAddressModeWrap",
    "cudaArrayDefault",
    "cudaArrayLayered",
    "cudaArraySurfaceLoadStore",
    "cudaChannelFormatKindFloat",
    "cudaChannelFormatKindSigned",
    "cudaChannelFormatKindUnsigned",
    "cudaFilterModeLinear",
    "cudaFilterModePoint",
    "cudaReadModeElementType",
    "cudaReadModeNormalizedFloat",
    "cudaResourceTypeArray",
    "cudaResourceTypeLinear",
    "cudaResourceTypeMipmappedArray",
    "cudaResourceTypePitch2D",
    "deviceGetAttribute",
    "deviceSynchronize",
    "driverGetVersion",
    "getDevice",
    "getDeviceCount",
    "getDeviceProperties",
    "is_hip",
    "memGetInfo",
    "runtimeGetVersion",
    "setDevice",
    "streamSynchronize",
]

is_hip: bool = False
"""Whether the GPU is one of AMD's: never."""

# Numbers of CUDA's enumerations that textures take (`quern.cuda.texture`).
cudaChannelFormatKindSigned: int = 0
cudaChannelFormatKindUnsigned: int = 1
cudaChannelFormatKindFloat: int = 2
cudaArrayDefault: int = 0
cudaArrayLayered: int = 1
cudaArraySurfaceLoadStore: int = 2
cudaResourceTypeArray: int = 0
cudaResourceTypeMipmappedArray: int = 1
cudaResourceTypeLinear: int = 2
cudaResourceTypePitch2D: int = 3
cudaAddressModeWrap: int = 0
cudaAddressModeClamp: int = 1
cudaAddressModeMirror: int = 2
cudaAddressModeBorder: int = 3
cudaFilterModePoint: int = 0
cudaFilterModeLinear: int = 1
cudaReadModeElementType: int = 0
cudaReadModeNormalizedFloat: int = 1


class DeviceProperties(TypedDict):
    """What `getDeviceProperties` tells; sizes are bytes."""

    name: bytes
    totalGlobalMem: int
    multiProcessorCount: int
    maxThreadsPerBlock: int
    sharedMemPerBlock: int
    warpSize: int
    major: int
    minor: int


def getDeviceCount() -> int:
    """How many devices ints can name: the GPUs; without a GPU the CPU alone."""
    return max(_core.gpu_count(), 1)


def getDevice() -> int:
    """The id of the current device."""
    return _core.Device().id


def setDevice(device: int) -> None:
    """Make a device current for this thread."""
    _core.Device(device).use()


def deviceSynchronize() -> None:
    """Wait for all work of the current device."""
    _core.Device().synchronize()


def streamSynchronize(stream: int) -> None:
    """Wait for the stream with this handle."""
    _core.ExternalStream(stream).synchronize()


def memGetInfo() -> tuple[int, int]:
    """Free and total bytes of the current device."""
    return _core.Device().mem_info


def driverGetVersion() -> int:
    """The version of CUDA that libcuda supports, 13000 for 13.0; 0 without a GPU."""
    return _core.driver_version()


def runtimeGetVersion() -> int:
    """The driver's version: quern needs no runtime library."""
    return _core.driver_version()


def deviceGetAttribute(name: str, device: int) -> int:
    """One entry of `Device(device).attributes`. Raises: KeyError."""
    return _core.Device(device).attributes[name]


def getDeviceProperties(device: int) -> DeviceProperties:
    """A device's main properties."""
    which = _core.Device(device)
    attributes = which.attributes
    return DeviceProperties(
        name=which.product.encode(),
        totalGlobalMem=which.mem_info[1],
        multiProcessorCount=attributes.get("MultiProcessorCount", 1),
        maxThreadsPerBlock=attributes.get("MaxThreadsPerBlock", 1024),
        sharedMemPerBlock=attributes.get("MaxSharedMemoryPerBlock", 48 * 1024),
        warpSize=attributes.get("WarpSize", 32),
        major=attributes.get("ComputeCapabilityMajor", 0),
        minor=attributes.get("ComputeCapabilityMinor", 0),
    )
