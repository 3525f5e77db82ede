"""Records the kernels that these tests make and call, so that the compiler's tests can compile every one of them for
GPUs that are not here: QUERN_RECORD_KERNELS=FILE writes one line for each kernel and list of argument types."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import quern

recorded: set[str] = set()
Kernel = quern.ElementwiseKernel


def escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


def describe(argument: Any, raw: bool) -> str:
    if isinstance(argument, quern.ndarray):
        return f"a:{argument.dtype.name}:{argument.ndim if raw else 0}"  # only raw arrays keep their axes in the text
    if isinstance(argument, np.void) or not isinstance(
        argument, bool | int | float | complex | np.generic
    ):
        return "other"
    return "s"


class RecordingKernel(Kernel):  # type: ignore[misc]
    """An ElementwiseKernel that notes what it is called with, once the call has gone well."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = super().__call__(*args, **kwargs)
        raw = [p.raw for p in self.params]
        given = [describe(a, r) for a, r in zip(args, raw, strict=False)] + ["m"] * (
            self.nargs - len(args)
        )
        extra = self.kwargs
        fields = [
            self.name,
            ", ".join(map(str, self.in_params)),
            ", ".join(map(str, self.out_params)),
            self.operation,
            self.preamble,
            extra.get("loop_prep", ""),
            extra.get("after_loop", ""),
            "\x1f".join(extra.get("options", ())),
            str(int(self.reduce_dims)),
            ",".join(given),
        ]
        if "other" not in given:
            recorded.add("\t".join(map(escape, fields)))
        return result


if os.environ.get("QUERN_RECORD_KERNELS"):
    quern.ElementwiseKernel = RecordingKernel  # before the test modules take it


def pytest_sessionfinish() -> None:
    path = os.environ.get("QUERN_RECORD_KERNELS")
    if path:
        with open(path, "w") as file:
            file.writelines(line + "\n" for line in sorted(recorded))
