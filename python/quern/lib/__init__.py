"""numpy.lib: of its modules `stride_tricks`, as in CuPy."""

from quern.lib import stride_tricks

__all__ = ["stride_tricks"]
