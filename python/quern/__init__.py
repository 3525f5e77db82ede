"""quern: write the kernel once, run it anywhere. A kernel string becomes a function on NVIDIA GPUs and on any CPU.

Arrays are NumPy-like and live on a device: the first GPU, or the CPU where there is none. Importing quern starts no
thread and touches no driver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy import (
    bool_,
    complex64,
    complex128,
    dtype,
    e,
    euler_gamma,
    float16,
    float32,
    float64,
    inf,
    int8,
    int16,
    int32,
    int64,
    int_,
    intp,
    nan,
    newaxis,
    pi,
    uint,
    uint8,
    uint16,
    uint32,
    uint64,
    uintp,
)

from quern import _core, cache, cuda
from quern._core import (
    Device,
    ElementwiseKernel,
    Event,
    ExternalStream,
    MemoryPool,
    PinnedMemoryPool,
    RawKernel,
    RawModule,
    ReductionKernel,
    Stream,
    ndarray,
    ufunc,
)
from quern._creation import (
    arange,
    array,
    asanyarray,
    asarray,
    ascontiguousarray,
    asfortranarray,
    asnumpy,
    copy,
    empty,
    empty_like,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from quern._einsum import einsum, einsum_path
from quern._errors import (
    CompileError,
    DriverError,
    Error,
    OutOfMemoryError,
    ResolveError,
    SpecError,
    UndecidedTypeError,
)
from quern._manipulation import (
    broadcast_shapes,
    broadcast_to,
    diagonal,
    expand_dims,
    may_share_memory,
    moveaxis,
    ndim,
    ravel,
    reshape,
    shape,
    size,
    squeeze,
    swapaxes,
    transpose,
)
from quern._order import (
    median,
    nanmedian,
    nanpercentile,
    nanquantile,
    percentile,
    quantile,
)
from quern._packages import package_folders as _package_folders
from quern._products import (
    cross,
    dot,
    inner,
    kron,
    matmul,
    matvec,
    outer,
    tensordot,
    vdot,
    vecdot,
    vecmat,
)
from quern._reductions import (
    all,
    amax,
    amin,
    any,
    argmax,
    argmin,
    average,
    count_nonzero,
    max,
    mean,
    min,
    nanargmax,
    nanargmin,
    nanmax,
    nanmean,
    nanmin,
    nanprod,
    nanstd,
    nansum,
    nanvar,
    prod,
    ptp,
    std,
    sum,
    var,
)
from quern._scans import (
    cumprod,
    cumsum,
    cumulative_prod,
    cumulative_sum,
    nancumprod,
    nancumsum,
)
from quern._ufuncs import at as _at

if TYPE_CHECKING:
    from ml_dtypes import bfloat16

ufunc.at = _at  # type: ignore[method-assign]
globals().update(_core.ufuncs)  # add, multiply, sin, ...: every row of the core's table

__version__: str = _core.__version__

__all__ = [
    "CompileError",
    "Device",
    "DriverError",
    "ElementwiseKernel",
    "Error",
    "Event",
    "ExternalStream",
    "MemoryPool",
    "OutOfMemoryError",
    "PinnedMemoryPool",
    "RawKernel",
    "RawModule",
    "ReductionKernel",
    "ResolveError",
    "SpecError",
    "Stream",
    "UndecidedTypeError",
    "__version__",
    "all",
    "amax",
    "amin",
    "any",
    "arange",
    "argmax",
    "argmin",
    "array",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "asfortranarray",
    "asnumpy",
    "average",
    "bfloat16",
    "bool_",
    "broadcast_shapes",
    "broadcast_to",
    "cache",
    "complex64",
    "complex128",
    "copy",
    "count_nonzero",
    "cuda",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "diagonal",
    "dtype",
    "e",
    "empty",
    "empty_like",
    "euler_gamma",
    "expand_dims",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "full",
    "full_like",
    "get_default_memory_pool",
    "get_default_pinned_memory_pool",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_",
    "intp",
    "is_available",
    "linspace",
    "max",
    "may_share_memory",
    "mean",
    "median",
    "min",
    "moveaxis",
    "nan",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "ndarray",
    "ndim",
    "newaxis",
    "ones",
    "ones_like",
    "percentile",
    "pi",
    "prod",
    "ptp",
    "quantile",
    "ravel",
    "reshape",
    "shape",
    "size",
    "squeeze",
    "std",
    "sum",
    "swapaxes",
    "synchronize",
    "transpose",
    "uint",
    "ufunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uintp",
    "var",
    "zeros",
    "zeros_like",
    *_core.ufuncs,
    "cross",
    "dot",
    "einsum",
    "einsum_path",
    "inner",
    "kron",
    "matmul",
    "matvec",
    "outer",
    "tensordot",
    "vdot",
    "vecdot",
    "vecmat",
]

from_dlpack = _core.from_dlpack
is_available = cuda.is_available
synchronize = cuda.synchronize

_core.set_package_folders(_package_folders())


def get_default_memory_pool() -> MemoryPool:
    """The memory pool of whichever device is current when it is asked."""
    return MemoryPool()


def get_default_pinned_memory_pool() -> PinnedMemoryPool:
    """The pool of page-locked host memory of whichever device is current when it is asked."""
    return PinnedMemoryPool()


def __getattr__(name: str) -> Any:
    if (
        name == "bfloat16"
    ):  # the one scalar type that NumPy has not; its package is imported when first wanted
        import ml_dtypes

        return ml_dtypes.bfloat16
    raise AttributeError(f"module 'quern' has no attribute {name!r}")
