"""What a name of NumPy's or CuPy's that quern has not is told of itself: refused and why, or planned."""

from __future__ import annotations

__all__ = ["REFUSED", "absent_attribute", "is_planned", "later_module"]

_NO_TEXT = "no device has arrays of text"
_NO_OBJECTS = "no device has arrays of Python objects"
_NO_RECORDS = "quern has no structured dtypes"
_NO_DATES = "no device has dates"
_NO_MATRIX = "the matrix class is left to NumPy: use 2-D arrays and @"
_NO_MASKED = "masked arrays are left to NumPy: use where() and the nan functions"
_WIDER = "devices have no floats wider than 64 bits"
_HOST = "it belongs to NumPy itself, not to arrays"
_ITERATION = "elements of a device are not visited one by one: use whole-array functions or ElementwiseKernel"
_OLD = "NumPy 2 has removed it"

REFUSED: dict[str, str] = {
    **dict.fromkeys(("str_", "bytes_", "char", "strings", "character"), _NO_TEXT),
    **dict.fromkeys(("object_", "frompyfunc"), _NO_OBJECTS),
    **dict.fromkeys(
        ("void", "rec", "recarray", "record", "format_parser", "flexible"), _NO_RECORDS
    ),
    **dict.fromkeys(("make_aligned_dtype",), _NO_RECORDS),
    **dict.fromkeys(("datetime64", "timedelta64", "busday_count", "busday_offset"), _NO_DATES),
    **dict.fromkeys(("busdaycalendar", "is_busday", "isnat"), _NO_DATES),
    **dict.fromkeys(("datetime_as_string", "datetime_data"), _NO_DATES),
    **dict.fromkeys(("matrix", "asmatrix", "bmat", "matlib"), _NO_MATRIX),
    "ma": _NO_MASKED,
    **dict.fromkeys(("longdouble", "clongdouble", "float96", "float128"), _WIDER),
    **dict.fromkeys(("complex192", "complex256"), _WIDER),
    **dict.fromkeys(("nditer", "nested_iters"), _ITERATION),
    **dict.fromkeys(("memmap", "get_include", "info", "show_runtime", "test", "core"), _HOST),
    **dict.fromkeys(("ctypeslib", "f2py", "dtypes", "getbufsize", "setbufsize"), _HOST),
    **dict.fromkeys(("seterrcall", "geterrcall", "sctypeDict", "ScalarType", "typecodes"), _HOST),
    **dict.fromkeys(("emath", "scimath", "DataSource", "tracemalloc_domain"), _HOST),
    **dict.fromkeys(("alltrue", "sometrue", "product", "cumproduct", "trapz"), _OLD),
    **dict.fromkeys(("PINF", "NINF", "PZERO", "NZERO", "Inf", "Infinity", "infty", "NAN"), _OLD),
    **dict.fromkeys(("NaN", "float_", "complex_", "singlecomplex", "cfloat"), _OLD),
    **dict.fromkeys(("issubclass_", "obj2sctype", "issubsctype", "sctype2char", "issctype"), _OLD),
    **dict.fromkeys(("find_common_type", "set_string_function", "disp", "safe_eval", "who"), _OLD),
    **dict.fromkeys(("get_array_wrap", "ModuleDeprecationWarning"), _OLD),
    **dict.fromkeys(("RankWarning", "TooHardError", "VisibleDeprecationWarning"), _OLD),
    **dict.fromkeys(("ComplexWarning", "AxisError"), _OLD),
    "show_config": "python -m quern doctor tells what there is",
    "fromregex": _NO_RECORDS,
    "disable_experimental_feature_warning": "nothing here warns that it is experimental",
}
"""Names of NumPy's and CuPy's that quern will not have, with the reason."""


def is_planned(name: str) -> bool:
    """Is it a public name of NumPy's that quern is to have?"""
    import numpy as np

    return name not in REFUSED and not name.startswith("_") and name in np.__all__


def absent_attribute(name: str) -> AttributeError:
    """The error for `quern.name`."""
    said = f"module 'quern' has no attribute {name!r}"
    if name in REFUSED:
        return AttributeError(f"{said}: {REFUSED[name]}")
    if is_planned(name):
        return AttributeError(f"{said} yet: numpy.{name} is planned")
    return AttributeError(said)


def later_module(module: str, name: str) -> AttributeError:
    """The error for a name in a module that comes later."""
    import importlib

    said = f"module 'quern.{module}' has no attribute {name!r}"
    if not name.startswith("_") and hasattr(importlib.import_module(f"numpy.{module}"), name):
        return AttributeError(
            f"{said} yet: it is planned, and comes later with numpy.{module}'s rest"
        )
    return AttributeError(said)
