"""What CuPy's users find in `cupyx`: helpers beside NumPy's functions."""

from quern.x._scatter import scatter_add, scatter_max, scatter_min

__all__ = ["scatter_add", "scatter_max", "scatter_min"]
