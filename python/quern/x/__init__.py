"""What CuPy's users find in `cupyx`: helpers beside NumPy's functions."""

from quern.x import profiler
from quern.x._errstate import errstate, geterr, seterr
from quern.x._pinned import empty_like_pinned, empty_pinned, zeros_like_pinned, zeros_pinned
from quern.x._rsqrt import rsqrt
from quern.x._scatter import scatter_add, scatter_max, scatter_min
from quern.x._waits import DeviceSynchronized, allow_synchronize

__all__ = [
    "DeviceSynchronized",
    "allow_synchronize",
    "empty_like_pinned",
    "empty_pinned",
    "errstate",
    "geterr",
    "profiler",
    "rsqrt",
    "scatter_add",
    "scatter_max",
    "scatter_min",
    "seterr",
    "zeros_like_pinned",
    "zeros_pinned",
]
