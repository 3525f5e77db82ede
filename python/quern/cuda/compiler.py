"""What CuPy calls the toolchain's complaint about a kernel."""

from __future__ import annotations

from quern._errors import CompileError as CompileException

__all__ = ["CompileException"]
