"""Small texts for the command line: devices in words, byte counts, aligned columns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "DeviceLine",
    "backend_of",
    "binary_bytes",
    "describe_devices",
    "device_description",
    "table",
]


@dataclass
class DeviceLine:
    """One device as the command line shows it."""

    name: str
    description: str
    backend: str  # the compiler that serves it: "nvrtc 13.0", "clang 19.1.7 (quern cc 1)"
    usable: bool
    problem: str


def describe_devices() -> list[DeviceLine]:
    """All devices of this machine, each tried with one kernel's worth of questions, none of it fatal."""
    from quern import _core

    lines = []
    for name in _core.device_names():
        try:
            lines.append(
                DeviceLine(
                    str(name), device_description(str(name)), backend_of(str(name)), True, ""
                )
            )
        except RuntimeError as error:
            lines.append(DeviceLine(str(name), "", "", False, str(error).splitlines()[0]))
    return lines


def current_device_name() -> str:
    """The name of the current device: "cpu", "cuda:0"."""
    import quern

    return quern.Device().name


def device_description(name: str | None = None) -> str:
    """A device in words: "cuda:0 (NVIDIA H200, sm_90, 139.8 GiB)"; opens its context, as the first array would."""
    import quern

    device = quern.Device(name)
    _, total_bytes = device.mem_info
    arch = device.arch.split("+")[0]  # without the CPU's single features
    return f"{device.name} ({device.product}, {arch}, {binary_bytes(total_bytes)})"


def backend_of(name: str | None = None) -> str:
    """The compiler behind a device, with its version as it says itself."""
    from quern import _core

    wanted = "quern_cc" if (name or current_device_name()) == "cpu" else "nvrtc"
    for finding in _core.survey_libraries():
        if finding["name"] == wanted:
            return (
                f"{finding['version']}" if wanted == "quern_cc" else f"NVRTC {finding['version']}"
            )
    return wanted


def cpu_model() -> str:
    """The processor as the system calls it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    import platform

    return platform.processor() or platform.machine()


def binary_bytes(count: int) -> str:
    """A byte count for people: 0 bytes, 3.1 KiB, 1.0 GiB."""
    size = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError


def table(rows: Iterable[Sequence[str]], indent: str = "  ") -> str:
    """Rows of texts as aligned columns."""
    lines = [tuple(row) for row in rows]
    if not lines:
        return ""
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return "\n".join(
        indent
        + "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
