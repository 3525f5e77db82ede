"""numpy.lib: of its modules `array_utils` and `stride_tricks`."""

from quern.lib import array_utils, stride_tricks

__all__ = ["array_utils", "stride_tricks"]
