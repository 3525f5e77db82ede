"""numpy.lib.array_utils, of quern's arrays."""

from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from quern._core import byte_bounds

__all__ = ["byte_bounds", "normalize_axis_index", "normalize_axis_tuple"]
