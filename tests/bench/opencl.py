"""PoCL, or what else OpenCL finds for the CPU, through ctypes: a peer for kernels that quern runs there."""

import ctypes
from typing import Any

import numpy as np

CPU = 1 << 1  # CL_DEVICE_TYPE_CPU
USE_HOST_POINTER = 1 << 3  # CL_MEM_USE_HOST_PTR: the arrays' own memory, as on quern's side
PLATFORM_VERSION, BUILD_LOG = 0x0901, 0x1183
PACKAGES = "install pocl-opencl-icd and ocl-icd-libopencl1"

Handle = ctypes.c_void_p
Size = ctypes.c_size_t


class OpenCL:
    """The first CPU device of OpenCL, with one queue; raises RuntimeError with the reason if there is none."""

    def __init__(self) -> None:
        try:
            self._api = ctypes.CDLL("libOpenCL.so.1")
        except OSError:
            raise RuntimeError(f"no libOpenCL.so.1 ({PACKAGES})") from None
        for maker in ("Context", "CommandQueue", "ProgramWithSource", "Kernel", "Buffer"):
            getattr(self._api, f"clCreate{maker}").restype = Handle
        platforms, count = (Handle * 8)(), ctypes.c_uint()
        self._api.clGetPlatformIDs(8, platforms, ctypes.byref(count))
        self._device = Handle()
        for platform in map(Handle, platforms[: count.value]):
            if not self._api.clGetDeviceIDs(
                platform, ctypes.c_uint64(CPU), 1, ctypes.byref(self._device), None
            ):
                break
        else:
            raise RuntimeError(f"OpenCL knows no CPU ({PACKAGES})")
        said = ctypes.create_string_buffer(300)
        self._check(
            self._api.clGetPlatformInfo(platform, PLATFORM_VERSION, Size(300), said, None), "name"
        )
        self.version = said.value.decode()  # "OpenCL 3.0 PoCL 3.1-debian ..."
        self._context = self._make("Context", None, 1, ctypes.byref(self._device), None, None)
        self._queue = self._make("CommandQueue", self._context, self._device, ctypes.c_uint64(0))

    def launcher(
        self, code: str, name: str, grid: tuple[int, ...], block: tuple[int, ...], *args: Any
    ) -> Any:
        """A function that runs this kernel once and waits. Arrays are used in place; numbers are NumPy's."""
        text = ctypes.c_char_p(code.encode())
        program = self._make("ProgramWithSource", self._context, 1, ctypes.byref(text), None)
        if self._api.clBuildProgram(program, 1, ctypes.byref(self._device), b"", None, None):
            log = ctypes.create_string_buffer(10000)
            self._api.clGetProgramBuildInfo(program, self._device, BUILD_LOG, Size(9999), log, None)
            raise RuntimeError(f"OpenCL does not build {name}: {log.value.decode()[-300:]}")
        kernel = self._make("Kernel", program, name.encode())
        for k, given in enumerate(args):
            if isinstance(given, np.ndarray):
                buffer = self._make(
                    "Buffer",
                    self._context,
                    ctypes.c_uint64(USE_HOST_POINTER),
                    Size(given.nbytes),
                    Handle(given.ctypes.data),
                )
                value: Any = buffer
            else:
                value = np.ctypeslib.as_ctypes(np.asarray(given))
            self._check(
                self._api.clSetKernelArg(
                    kernel, k, Size(ctypes.sizeof(value)), ctypes.byref(value)
                ),
                f"argument {k} of {name}",
            )
        sizes = len(grid)
        whole = (Size * sizes)(*(g * b for g, b in zip(grid, block, strict=True)))
        local = (Size * sizes)(*block)

        def launch(keep: Any = args) -> None:
            self._check(
                self._api.clEnqueueNDRangeKernel(
                    self._queue, kernel, sizes, None, whole, local, 0, None, None
                ),
                name,
            )
            self._check(self._api.clFinish(self._queue), name)

        return launch

    def _make(self, what: str, *args: Any) -> Handle:
        status = ctypes.c_int()
        made = getattr(self._api, f"clCreate{what}")(*args, ctypes.byref(status))
        self._check(status.value, f"clCreate{what}")
        return Handle(made)

    @staticmethod
    def _check(status: int, what: str) -> None:
        if status:
            raise RuntimeError(f"OpenCL: {what}: error {status}")
