"""What CuPy's users find in `cupyx`: helpers beside NumPy's functions."""

from quern.x._pinned import empty_like_pinned, empty_pinned, zeros_like_pinned, zeros_pinned
from quern.x._scatter import scatter_add, scatter_max, scatter_min

__all__ = [
    "empty_like_pinned",
    "empty_pinned",
    "scatter_add",
    "scatter_max",
    "scatter_min",
    "zeros_like_pinned",
    "zeros_pinned",
]
