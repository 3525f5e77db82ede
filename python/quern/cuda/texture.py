"""Textures and surfaces for raw kernels, under CuPy's names.

`quern.cuda.runtime` has the constants: cudaAddressModeClamp and its like.
"""

from __future__ import annotations

from quern._core import (
    ChannelFormatDescriptor,
    CUDAarray,
    ResourceDescriptor,
    SurfaceObject,
    TextureDescriptor,
    TextureObject,
)

__all__ = [
    "CUDAarray",
    "ChannelFormatDescriptor",
    "ResourceDescriptor",
    "SurfaceObject",
    "TextureDescriptor",
    "TextureObject",
]
