"""Textures and surfaces against NumPy: fetches by the programming guide's formulas, with unfolded coordinates."""

from __future__ import annotations

import functools
import gc
import itertools
from pathlib import Path

import numpy as np
import pytest

import quern
from quern.cuda import runtime
from quern.cuda.texture import (
    ChannelFormatDescriptor,
    CUDAarray,
    ResourceDescriptor,
    SurfaceObject,
    TextureDescriptor,
    TextureObject,
)

SOURCE = (Path(__file__).parent / "kernels" / "textures.cu").read_text(encoding="utf-8")
WRAP, CLAMP, MIRROR, BORDER = range(4)
DTYPES = ["int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32"]
SHAPES = [(67,), (19, 67), (5, 19, 67)]


@functools.cache
def kernel(name):
    """A kernel of the program, by name or with a template's arguments."""
    return quern.RawKernel(SOURCE, name)


def launch(name, args, threads):
    kernel(name)((-(-threads // 96),), (96,), args)


def launch_and_wait(device, name, args):
    kernel(name)((1,), (1,), args)
    device.synchronize()


def channel_format(dtype, channels):
    kind = {
        "i": runtime.cudaChannelFormatKindSigned,
        "u": runtime.cudaChannelFormatKindUnsigned,
        "f": runtime.cudaChannelFormatKindFloat,
    }[np.dtype(dtype).kind]
    bits = 8 * np.dtype(dtype).itemsize
    return ChannelFormatDescriptor(*(bits if k < channels else 0 for k in range(4)), kind)


def ctype(dtype, channels):
    """What a kernel reads: halves are read as floats."""
    name = {"int8": "char", "int16": "short", "int32": "int", "float16": "float"}.get(
        dtype, {"uint8": "uchar", "uint16": "ushort", "uint32": "uint"}.get(dtype, "float")
    )
    scalar = {"char": "signed char", "uchar": "unsigned char", "ushort": "unsigned short"}
    return (
        f"{name}{channels}" if channels > 1 else scalar.get(name, name.replace("uint", "unsigned"))
    )


def values(shape, dtype, seed=0):
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return random.uniform(-2, 2, shape).astype(dtype)
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max, shape, dtype, endpoint=True)


def cuda_array(host, channels=None, flags=0):
    """A CUDA array of `host`, whose last axis holds the channels unless there is one."""
    shape = host.shape if channels is None else host.shape[:-1]
    depth, height, width = (0, 0, 0, *shape)[-3:]
    if flags & runtime.cudaArrayLayered and len(shape) == 2:
        depth, height = height, 0
    made = CUDAarray(channel_format(host.dtype, channels or 1), width, height, depth, flags)
    made.copy_from(np.ascontiguousarray(host))
    return made


def texture_of(array, **settings):
    resource = ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    return TextureObject(resource, TextureDescriptor(**settings))


def surface_of(array):
    return SurfaceObject(ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array))


# ---- the oracle


def as_read(host, normalized):
    """What a fetch finds in the texels, in double precision."""
    if not normalized or host.dtype.kind == "f":
        return host.astype(np.float64)
    return np.maximum(host / np.iinfo(host.dtype).max, -1.0)


def folded(i, size, mode):
    """Texels' numbers, and whether they are there at all."""
    inside = (i >= 0) & (i < size)
    if mode == WRAP:
        return i % size, np.ones_like(inside)
    if mode == MIRROR:
        turn = i % (2 * size)
        return np.where(turn < size, turn, 2 * size - 1 - turn), np.ones_like(inside)
    return np.clip(i, 0, size - 1), inside if mode == BORDER else np.ones_like(inside)


def sampled(texels, at, modes, linear, normalized, border=0.0):
    """Guide, "Texture Fetching": `texels` (z, y, x) or fewer axes; `at` (points, axes) as x, y, z."""
    axes = at.shape[1]
    if not normalized:
        modes = [mode if mode == BORDER else CLAMP for mode in modes]
    choices = []
    for axis in range(axes):
        size = texels.shape[axes - 1 - axis]
        x = at[:, axis].astype(np.float64) * (size if normalized else 1)
        if linear:
            x = x - 0.5
            fraction = np.rint((x - np.floor(x)) * 256) / 256
        else:
            fraction = np.zeros_like(x)
        i = np.floor(x).astype(np.int64)
        choices.append(
            [
                (*folded(i, size, modes[axis]), 1 - fraction),
                (*folded(i + 1, size, modes[axis]), fraction),
            ]
        )
    total = 0.0
    for corner in itertools.product(*choices):
        index = tuple(part[0] for part in reversed(corner))
        there = np.logical_and.reduce([part[1] for part in corner])
        weight = np.multiply.reduce([part[2] for part in corner])
        total = total + weight * np.where(there, texels[index], border)
    return total


def points(shape, normalized, linear, seed):
    """Coordinates in and around the texels; linear ones on 256ths of a texel, others off the edges."""
    random = np.random.default_rng(seed)
    sizes = np.array(shape[::-1])
    count = 500
    texel = np.stack([random.integers(-2 * n - 3, 3 * n + 3, count) for n in sizes], axis=1)
    steps, jitter = random.integers(0, 256, texel.shape), random.uniform(0.1, 0.9, texel.shape)
    at = texel + (steps / 256 if linear else jitter)
    return (at / sizes if normalized else at).astype(np.float32)


def close(ours, expected, device, linear, spread):
    """On the CPU to rounding; a GPU filters with weights of few bits."""
    few_bits = 4 / 256 if linear and not device.is_cpu else 0
    np.testing.assert_allclose(ours, expected, rtol=2e-6, atol=(2e-6 + few_bits) * spread)


# ---- CUDA arrays


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [1, 2, 4])
def test_arrays_hold_what_is_copied(device, shape, dtype, channels):
    host = values((*shape[:-1], shape[-1] * channels), dtype)
    depth, height, width = (0, 0, *shape)[-3:]
    array = CUDAarray(channel_format(dtype, channels), width, height, depth)
    assert (array.width, array.height, array.depth) == (width, height, depth)
    assert array.ndim == len(shape)
    assert array.desc.get_channel_format()["x"] == 8 * host.itemsize
    assert array.ptr != 0
    array.copy_from(host)
    back, there = np.zeros_like(host), quern.zeros(host.shape, dtype)
    array.copy_to(back)
    array.copy_to(there)
    np.testing.assert_array_equal(back, host)
    np.testing.assert_array_equal(there.get(), host)
    # from the device, channels as an axis, strided
    other = values((*shape, channels), dtype, 1)
    padded = quern.asarray(np.repeat(other, 2, axis=0))
    array.copy_from(padded[::2])
    array.copy_to(there)
    np.testing.assert_array_equal(there.get(), other.reshape(host.shape))
    array.copy_from(np.repeat(host, 2, axis=0)[::2])
    array.copy_to(back)
    np.testing.assert_array_equal(back, host)


def test_copies_follow_their_stream(device):
    stream, host = quern.Stream(non_blocking=True), values((19, 67), "float32")
    array = CUDAarray(channel_format("float32", 1), 67, 19)
    with stream:
        there, back = quern.asarray(host), quern.zeros(host.shape, "float32")
    array.copy_from(there, stream)
    array.copy_to(back, stream)
    stream.synchronize()
    np.testing.assert_array_equal(back.get(), host)
    host += 1
    array.copy_from(host, stream)
    out = np.zeros_like(host)
    array.copy_to(out, stream)
    np.testing.assert_array_equal(out, host)


def test_copies_that_do_not_fit(device):
    array = CUDAarray(channel_format("float32", 2), 6, 5)
    good = np.zeros((5, 12), np.float32)
    with pytest.raises(ValueError, match=r"shape \(5, 6\).*wants \(5, 12\)"):
        array.copy_from(good[:, :6])
    with pytest.raises(ValueError, match="shape"):
        array.copy_from(np.zeros((6, 5, 2), np.float32))
    with pytest.raises(TypeError, match=r"float64.*float32 x 2"):
        array.copy_from(good.astype(np.float64))
    with pytest.raises(TypeError, match="int32"):
        array.copy_to(quern.zeros((5, 12), "int32"))
    with pytest.raises(TypeError, match="list"):
        array.copy_from(good.tolist())
    with pytest.raises(ValueError, match="C-contiguous"):
        array.copy_to(np.zeros((5, 24), np.float32)[:, ::2])
    with pytest.raises(ValueError, match="C-contiguous"):
        array.copy_to(quern.zeros((5, 24), "float32")[:, ::2])
    good.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        array.copy_to(good)
    array.copy_from(good)  # still of use


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "at least 1"),
        ((4, -1), "negative"),
        ((4, 0, 3), "needs a height"),
        ((4, 4, 0, 1), "layers"),
        ((4, 4, 4, 4), "flags"),
    ],
)
def test_arrays_that_cannot_be(device, arguments, message):
    with pytest.raises(ValueError, match=message):
        CUDAarray(channel_format("float32", 1), *arguments)


def test_arrays_past_the_limits(device):
    limit = device.attributes["MaxTexture1DWidth"]
    with pytest.raises(quern.DriverError, match=r"CUDA_ERROR_INVALID_VALUE.*make a"):
        CUDAarray(channel_format("float32", 1), limit + 1)


def test_arrays_without_memory(device):
    with pytest.raises(quern.OutOfMemoryError, match=r"\(16384, 16384, 16384\).*64.* TiB"):
        CUDAarray(channel_format("float32", 4), 16384, 16384, 16384)


# ---- fetches


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [1, 2, 4])
def test_linear_memory(device, dtype, channels):
    host = values((101, channels), dtype)
    memory = quern.asarray(host)
    texture = TextureObject(
        ResourceDescriptor(
            runtime.cudaResourceTypeLinear,
            arr=memory,
            chDesc=channel_format(dtype, channels),
            sizeInBytes=host.nbytes,
        ),
        TextureDescriptor(),
    )
    x = np.arange(-20, 120, dtype=np.int32)
    read = "float32" if dtype == "float16" else dtype
    out = quern.full((len(x), channels), 7, read)
    launch(f"fetch<{ctype(dtype, channels)}>", (texture, quern.asarray(x), out, len(x)), len(x))
    expected = np.where(((x >= 0) & (x < 101))[:, None], host[x.clip(0, 100)], 0)
    np.testing.assert_array_equal(out.get(), expected.astype(read))


@pytest.mark.parametrize("dtype", ["int8", "uint16"])
def test_linear_memory_as_fractions(device, dtype):
    host = values((101, 2), dtype)
    resource = ResourceDescriptor(
        runtime.cudaResourceTypeLinear,
        arr=quern.asarray(host),
        chDesc=channel_format(dtype, 2),
        sizeInBytes=host.nbytes,
    )
    texture = TextureObject(
        resource, TextureDescriptor(readMode=runtime.cudaReadModeNormalizedFloat)
    )
    x, out = np.arange(-3, 104, dtype=np.int32), quern.full((107, 2), 7, "float32")
    launch("fetch<float2>", (texture, quern.asarray(x), out, 107), 107)
    expected = np.pad(as_read(host, True), ((3, 3), (0, 0)))
    np.testing.assert_allclose(out.get(), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [1, 2, 4])
def test_pitched_memory(device, dtype, channels):
    height, width = 13, 31
    step = 512 // (np.dtype(dtype).itemsize * channels)  # texels from row to row
    host = values((height, step, channels), dtype)
    memory = quern.asarray(host)
    resource = ResourceDescriptor(
        runtime.cudaResourceTypePitch2D,
        arr=memory,
        chDesc=channel_format(dtype, channels),
        width=width,
        height=height,
        pitchInBytes=512,
    )
    texture = TextureObject(resource, TextureDescriptor((CLAMP, BORDER)))
    at = points((height, width), False, False, 3)
    read = "float32" if dtype == "float16" else dtype
    out = quern.zeros((len(at), channels), read)
    launch(
        f"sample_2d<{ctype(dtype, channels)}>", (texture, quern.asarray(at), out, len(at)), len(at)
    )
    expected = [
        sampled(host[:, :width, c].astype(float), at, (CLAMP, BORDER), False, False)
        for c in range(channels)
    ]
    np.testing.assert_array_equal(out.get(), np.stack(expected, axis=1).astype(read))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", [WRAP, CLAMP, MIRROR, BORDER])
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("normalized", [False, True])
def test_samples(device, shape, mode, linear, normalized):
    host = values((*shape, 2), "float32")
    axes = len(shape)
    modes = [(mode + axis) % 4 for axis in range(axes)]
    texture = texture_of(
        cuda_array(host, 2),
        addressModes=modes,
        filterMode=runtime.cudaFilterModeLinear if linear else runtime.cudaFilterModePoint,
        normalizedCoords=normalized,
    )
    at = points(shape, normalized, linear, mode)
    out = quern.zeros((len(at), 2), "float32")
    launch(f"sample_{axes}d<float2>", (texture, quern.asarray(at), out, len(at)), len(at))
    expected = [sampled(host[..., c], at, modes, linear, normalized) for c in range(2)]
    close(out.get(), np.stack(expected, axis=1), device, linear, 4)


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "uint16", "float16"])
@pytest.mark.parametrize("linear", [False, True])
def test_integers_as_fractions(device, dtype, linear):
    host = values((23, 41, 4), dtype)
    if host.dtype.kind == "i":
        host[:5] = np.iinfo(dtype).min  # and one above are both -1
    texture = texture_of(
        cuda_array(host, 4),
        addressModes=(MIRROR, WRAP),
        filterMode=int(linear),
        readMode=runtime.cudaReadModeNormalizedFloat,
        normalizedCoords=1,
    )
    at = points((23, 41), True, linear, 5)
    out = quern.zeros((len(at), 4), "float32")
    launch("sample_2d<float4>", (texture, quern.asarray(at), out, len(at)), len(at))
    texels = as_read(host, True)
    expected = [sampled(texels[..., c], at, (MIRROR, WRAP), linear, True) for c in range(4)]
    close(out.get(), np.stack(expected, axis=1), device, linear, 4)


def test_srgb(device):
    host = values((9, 31, 4), "uint8")
    texture = texture_of(cuda_array(host, 4), readMode=1, sRGB=1)
    at = points((9, 31), False, False, 6)
    out = quern.zeros((len(at), 4), "float32")
    launch("sample_2d<float4>", (texture, quern.asarray(at), out, len(at)), len(at))
    coded = host / 255
    texels = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    texels[..., 3] = coded[..., 3]
    expected = [sampled(texels[..., c], at, (CLAMP, CLAMP), False, False) for c in range(4)]
    tolerance = 1e-6 if device.is_cpu else 2.5e-3  # a GPU's table of the curve is coarse
    np.testing.assert_allclose(out.get(), np.stack(expected, axis=1), rtol=0, atol=tolerance)


@pytest.mark.parametrize("linear", [False, True])
def test_border_colors(device, linear):
    host, color = values((11, 17, 4), "float32"), (0.5, -1.25, 3.0, 0.125)
    texture = texture_of(
        cuda_array(host, 4),
        addressModes=(BORDER, BORDER),
        filterMode=int(linear),
        borderColors=color,
    )
    at = points((11, 17), False, linear, 7)
    out = quern.zeros((len(at), 4), "float32")
    launch("sample_2d<float4>", (texture, quern.asarray(at), out, len(at)), len(at))
    modes = (BORDER, BORDER)
    expected = [sampled(host[..., c], at, modes, linear, False, color[c]) for c in range(4)]
    close(out.get(), np.stack(expected, axis=1), device, linear, 4)


def test_integers_of_every_width(device):
    for dtype, channels in itertools.product(DTYPES[:6], [1, 2, 4]):
        host = values((7, 29, channels), dtype)
        texture = texture_of(cuda_array(host, channels), addressModes=(BORDER, CLAMP))
        at = points((7, 29), False, False, 8)
        out = quern.zeros((len(at), channels), dtype)
        launch(
            f"sample_2d<{ctype(dtype, channels)}>",
            (texture, quern.asarray(at), out, len(at)),
            len(at),
        )
        expected = [
            sampled(host[..., c].astype(float), at, (BORDER, CLAMP), False, False)
            for c in range(channels)
        ]
        np.testing.assert_array_equal(out.get(), np.stack(expected, axis=1).astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
def test_channels_that_are_missing(device, dtype):
    host = values(31, dtype)
    texture, x = texture_of(cuda_array(host)), np.arange(31, dtype=np.float32) + 0.5
    out = quern.zeros((31, 4), dtype)
    launch(f"sample_1d<{ctype(dtype, 4)}>", (texture, quern.asarray(x), out, 31), 31)
    expected = np.zeros((31, 4), dtype)
    expected[:, 0] = host
    np.testing.assert_array_equal(out.get(), expected)


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("linear", [False, True])
def test_layers(device, axes, linear):
    shape, layers = (19, 67)[2 - axes :], 5
    host = values((layers, *shape), "float32")
    texture = texture_of(cuda_array(host, flags=runtime.cudaArrayLayered), filterMode=int(linear))
    at = points(shape, False, linear, 9)
    layer = np.random.default_rng(9).integers(0, layers + 3, len(at)).astype(np.int32)
    out = quern.zeros(len(at), "float32")
    launch(
        f"layers_{axes}d", (texture, quern.asarray(at), quern.asarray(layer), out, len(at)), len(at)
    )
    every = np.stack([sampled(host[k], at, (CLAMP,) * axes, linear, False) for k in range(layers)])
    expected = every[layer.clip(0, layers - 1), np.arange(len(at))]
    close(out.get(), expected, device, linear, 4)


@pytest.mark.parametrize(("axes", "forms"), [(1, 4), (2, 5), (3, 4)])
def test_every_form_reads_the_same(device, axes, forms):
    host = values(SHAPES[axes - 1], "float32")
    texture = texture_of(cuda_array(host), filterMode=1)
    at = points(host.shape, False, True, 10)
    out = quern.zeros((len(at), forms), "float32")
    launch(f"forms_{axes}d", (texture, quern.asarray(at), out, len(at)), len(at))
    ours = out.get()
    np.testing.assert_array_equal(ours, ours[:, :1].repeat(forms, axis=1))
    close(ours[:, 0], sampled(host, at, (CLAMP,) * axes, True, False), device, True, 4)


# ---- surfaces


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize(
    ("dtype", "channels", "name"),
    [
        ("uint8", 1, "unsigned char"),
        ("int16", 2, "short2"),
        ("float32", 1, "float"),
        ("float32", 4, "float4"),
    ],
)
def test_surfaces(device, axes, dtype, channels, name):
    shape = SHAPES[axes - 1]
    host = values((*shape, channels), dtype)
    array = cuda_array(np.zeros_like(host), channels, runtime.cudaArraySurfaceLoadStore)
    surface = surface_of(array)
    launch(f"write_{axes}d<{name}>", (surface, quern.asarray(host), *shape[::-1]), host.size)
    back = np.zeros_like(host)
    array.copy_to(back)
    np.testing.assert_array_equal(back, host)

    random = np.random.default_rng(11)
    at = np.stack([random.integers(-n, 2 * n, 400) for n in shape[::-1]], axis=1).astype(np.int32)
    for mode, there in [(0, 0), (1, 1)]:  # zero, clamp
        out = quern.full((len(at), channels), 9, dtype)
        launch(f"read_{axes}d<{name}, {mode}>", (surface, quern.asarray(at), out, len(at)), len(at))
        inside = np.all((at >= 0) & (at < shape[::-1]), axis=1)
        index = tuple(at[:, axes - 1 - k].clip(0, n - 1) for k, n in enumerate(shape))
        expected = np.where((inside | bool(there))[:, None], host[index], 0)
        np.testing.assert_array_equal(out.get(), expected)


def test_surface_layers(device):
    host = values((3, 19, 67), "float32")
    flags = runtime.cudaArrayLayered | runtime.cudaArraySurfaceLoadStore
    array = cuda_array(host, flags=flags)
    launch("double_layers", (surface_of(array), 67, 19, 3), 500)
    back = np.zeros_like(host)
    array.copy_to(back)
    np.testing.assert_array_equal(back, 2 * host)


@pytest.mark.parametrize("tier", ["fibers", "regions"])
def test_texture_to_surface_by_shared_memory(device, tier):
    host = values((45, 67), "float32")
    source = cuda_array(host)
    target = cuda_array(np.zeros_like(host), flags=runtime.cudaArraySurfaceLoadStore)
    options = (f"--quern-waiting={tier}",) if device.is_cpu else ()
    blur = quern.RawKernel(SOURCE, "blur", options)
    blur((5, 3), (16, 16), (texture_of(source), surface_of(target), 67, 45))
    back = np.zeros_like(host)
    target.copy_to(back)
    padded = np.pad(host.astype(float), 1, mode="edge")
    expected = sum(padded[y : y + 45, x : x + 67] for y in range(3) for x in range(3)) / 9
    np.testing.assert_allclose(back, expected, rtol=1e-5, atol=1e-6)


def test_trap_ends_the_kernel_alone(device):
    if not device.is_cpu:
        pytest.skip("a GPU's context does not survive a trap")
    surface = surface_of(
        cuda_array(np.zeros(8, np.float32), flags=runtime.cudaArraySurfaceLoadStore)
    )
    with pytest.raises(quern.DriverError, match="CUDA_ERROR_LAUNCH_FAILED"):
        launch_and_wait(device, "trap", (surface, 8))
    kernel("trap")((1,), (1,), (surface, 7))
    device.synchronize()


def test_handles_that_are_gone(device):
    if not device.is_cpu:
        pytest.skip("a GPU's context does not survive it")
    texture = texture_of(cuda_array(np.zeros(8, np.float32)))
    handle, x, out = texture.ptr, quern.zeros(1, "float32"), quern.zeros(1, "float32")
    del texture
    for bad in (handle, 0, 12345):
        with pytest.raises(quern.DriverError, match="CUDA_ERROR_ILLEGAL_ADDRESS"):
            launch_and_wait(device, "sample_1d<float>", (bad, x, out, 1))


# ---- lifetimes, arguments, descriptors


def test_objects_keep_what_they_read(device):
    host = values((19, 67), "float32")
    at = points(host.shape, False, False, 12)
    out, where = quern.zeros(len(at), "float32"), quern.asarray(at)
    texture = texture_of(cuda_array(host))
    gc.collect()
    launch("sample_2d<float>", (texture, where, out, len(at)), len(at))
    assert texture.ResDesc.cuArr.width == 67
    assert texture.TexDesc.get_texture_desc()["filterMode"] == 0
    del texture  # waits for the kernel
    np.testing.assert_array_equal(out.get(), sampled(host, at, (CLAMP, CLAMP), False, False))
    memory = quern.asarray(host)
    resource = ResourceDescriptor(
        runtime.cudaResourceTypeLinear,
        arr=memory,
        chDesc=channel_format("float32", 1),
        sizeInBytes=400,
    )
    assert resource.get_resource_desc() == {
        "resType": runtime.cudaResourceTypeLinear,
        "devPtr": memory.data.ptr,
        "desc": {"x": 32, "y": 0, "z": 0, "w": 0, "f": runtime.cudaChannelFormatKindFloat},
        "sizeInBytes": 400,
    }
    assert resource.arr is memory
    texture = TextureObject(resource, TextureDescriptor())
    del memory, resource
    others = [quern.full((19, 67), 5, "float32") for _ in range(3)]
    x = np.arange(100, dtype=np.int32)
    launch("fetch<float>", (texture, quern.asarray(x), out, 100), 100)
    np.testing.assert_array_equal(out.get()[:100], host.ravel()[:100])
    assert len(others) == 3


SCALE = """
extern "C" __global__ void f(float* out, cudaTextureObject_t texture, cudaSurfaceObject_t surface, float scale,
                             unsigned long long handle) {
    out[0] = scale * tex1D<float>(texture, 0.5f) + tex1D<float>(handle, 1.5f);
    surf1Dwrite(out[0], surface, 0);
}
"""


def test_arguments(device):
    array = cuda_array(values(8, "float32"), flags=runtime.cudaArraySurfaceLoadStore)
    texture, surface, out = texture_of(array), surface_of(array), quern.zeros(1, "float32")
    f = quern.RawKernel(SCALE, "f")
    host = np.zeros(8, np.float32)
    array.copy_to(host)
    expected = 2 * host[0] + host[1]
    for handle in (texture, texture.ptr, np.uint64(texture.ptr)):
        array.copy_from(host)
        f((1,), (1,), (out, texture, surface, 2.0, handle))
        np.testing.assert_allclose(out.get()[0], expected, rtol=1e-6)
    array.copy_from(host)
    f((1,), (1,), (out, texture.ptr, surface.ptr, 2.0, texture))
    np.testing.assert_allclose(out.get()[0], expected, rtol=1e-6)

    good = [out, texture, surface, 2.0, texture]
    wrong = [
        (0, texture, "argument 0 is a texture; its parameter is no cudaTextureObject_t"),
        (0, surface, "argument 0 is a surface; its parameter is no cudaSurfaceObject_t"),
        (3, texture, "argument 3 is a texture"),
        (1, surface, "argument 1 is a surface; its parameter is a texture"),
        (2, texture, "argument 2 is a texture; its parameter is a surface"),
        (1, out, "argument 1 is no texture"),
        (2, out, "argument 2 is no surface"),
        (1, None, "argument 1 is no texture"),
        (1, 2.5, "argument 1"),
        (1, np.float64(1), "argument 1 is another kind of number"),
    ]
    for place, given, message in wrong:
        arguments = list(good)
        arguments[place] = given
        with pytest.raises(TypeError, match=message):
            f((1,), (1,), tuple(arguments))


def test_the_device_of_a_texture(device):
    names = [name for name in ("cpu", "cuda:0") if name in quern._core.device_names()]
    if len(names) < 2:
        pytest.skip("one device")
    texture = texture_of(cuda_array(np.zeros(8, np.float32)))
    other = next(name for name in names if name != device.name)
    with quern.Device(other):
        out = quern.zeros(1, "float32")
        with pytest.raises(ValueError, match=r"on the kernel's device|is on device"):
            kernel("sample_1d<float>")((1,), (1,), (texture, out, out, 1))


@pytest.mark.parametrize(
    ("bits", "message"),
    [
        ((32, 32, 32, 0, 2), "1, 2 or 4 channels"),
        ((32, 16, 0, 0, 2), "1, 2 or 4 channels"),
        ((0, 0, 0, 0, 2), "1, 2 or 4 channels"),
        ((0, 8, 0, 0, 2), "1, 2 or 4 channels"),
        ((8, 0, 0, 0, 2), "channels of 8, 16 and 32 bits"),
        ((64, 0, 0, 0, 0), "channels of 8, 16 and 32 bits"),
        ((32, 0, 0, 0, 3), "channels of 8, 16 and 32 bits"),
    ],
)
def test_formats_that_cannot_be(bits, message):
    with pytest.raises(ValueError, match=message):
        ChannelFormatDescriptor(*bits)


def test_resources_that_cannot_be(device):
    float32 = channel_format("float32", 1)
    memory, strided = quern.zeros((8, 128), "float32"), quern.zeros((8, 256), "float32")[:, ::2]
    array, linear, pitch = (
        runtime.cudaResourceTypeArray,
        runtime.cudaResourceTypeLinear,
        runtime.cudaResourceTypePitch2D,
    )

    def refused(kind, message, *args, **keywords):
        with pytest.raises(kind, match=message):
            ResourceDescriptor(*args, **keywords)

    refused(ValueError, "restype is 7", 7)
    refused(NotImplementedError, "mipmapped", runtime.cudaResourceTypeMipmappedArray)
    refused(TypeError, "cuArr is a CUDAarray here, not None", array)
    refused(TypeError, "cuArr is a CUDAarray here, not ndarray", array, memory)
    refused(TypeError, "chDesc", linear, arr=memory, sizeInBytes=64)
    refused(TypeError, "host's memory", linear, arr=memory.get(), chDesc=float32, sizeInBytes=64)
    refused(TypeError, "not None", linear, chDesc=float32, sizeInBytes=64)
    refused(ValueError, "multiple", linear, arr=memory, chDesc=float32, sizeInBytes=63)
    refused(ValueError, "multiple", linear, arr=memory, chDesc=float32)
    refused(ValueError, "4096 bytes", linear, arr=memory, chDesc=float32, sizeInBytes=4100)
    refused(ValueError, "strided view", linear, arr=strided, chDesc=float32, sizeInBytes=64)
    size = {"width": 100, "height": 8, "pitchInBytes": 512}
    ResourceDescriptor(pitch, arr=memory, chDesc=float32, **size)
    refused(ValueError, "at least 1", pitch, arr=memory, chDesc=float32, **(size | {"width": 0}))
    refused(
        ValueError, "400 bytes", pitch, arr=memory, chDesc=float32, **(size | {"pitchInBytes": 64})
    )
    refused(ValueError, "needs", pitch, arr=memory, chDesc=float32, **(size | {"height": 9}))


def test_settings_that_cannot_be():
    def refused(kind, message, **keywords):
        with pytest.raises(kind, match=message):
            TextureDescriptor(**keywords)

    refused(
        ValueError, r"address mode is 4; there are cudaAddressModeWrap \(0\)", addressModes=(0, 4)
    )
    refused(ValueError, "4 items; at most 3", addressModes=(0, 0, 0, 0))
    refused(TypeError, "addressModes is a tuple, not int", addressModes=1)
    refused(ValueError, "filterMode is 2", filterMode=2)
    refused(ValueError, "readMode is -1", readMode=-1)
    refused(ValueError, "normalizedCoords is 2", normalizedCoords=2)
    refused(ValueError, "maxAnisotropy is 17", maxAnisotropy=17)
    refused(ValueError, "5 items", borderColors=(0, 0, 0, 0, 0))


def test_descriptors_that_do_not_go_together(device):
    def refused(kind, message, dtype="float32", **settings):
        with pytest.raises(kind, match=message):
            texture_of(cuda_array(values(8, dtype)), **settings)

    refused(ValueError, "8 and 16 bits", "int32", readMode=1)
    refused(ValueError, "mixes floats", "uint32", filterMode=1)
    refused(ValueError, "readMode=cudaReadModeNormalizedFloat", "uint8", filterMode=1)
    refused(ValueError, "whose border is 0", "uint8", borderColors=(1,))
    refused(ValueError, "sRGB needs", "uint16", sRGB=1, readMode=1)
    refused(ValueError, "sRGB needs", "uint8", sRGB=1)
    plain = ResourceDescriptor(
        runtime.cudaResourceTypeArray, cuArr=cuda_array(values(8, "float32"))
    )
    with pytest.raises(ValueError, match="made without cudaArraySurfaceLoadStore"):
        SurfaceObject(plain)
    with pytest.raises(TypeError, match="TextureObject wants"):
        TextureObject(plain, plain)
    with pytest.raises(TypeError, match="SurfaceObject wants"):
        SurfaceObject(None)
    memory, float32 = quern.zeros(1024, "float32"), channel_format("float32", 1)
    linear = ResourceDescriptor(
        runtime.cudaResourceTypeLinear, arr=memory[1:], chDesc=float32, sizeInBytes=64
    )
    with pytest.raises(ValueError, match=r"multiple of 512 bytes; this array begins 4 bytes past"):
        TextureObject(linear, TextureDescriptor())
    with pytest.raises(ValueError, match="a surface is of a CUDA array"):
        SurfaceObject(linear)
    pitch = ResourceDescriptor(
        runtime.cudaResourceTypePitch2D,
        arr=memory,
        chDesc=float32,
        width=5,
        height=5,
        pitchInBytes=20,
    )
    with pytest.raises(ValueError, match="pitchInBytes is a multiple of 32"):
        TextureObject(pitch, TextureDescriptor())


@pytest.mark.parametrize("name", ["texture", "surface"])
def test_references_are_refused_with_the_cure(device, name):
    what = "float, 2, cudaReadModeElementType" if name == "texture" else "void, 2"
    code = f'{name}<{what}> old;\nextern "C" __global__ void f(float* p) {{ p[0] = 1; }}'
    with pytest.raises(quern.CompileError, match="line 1") as caught:
        quern.RawKernel(code, "f").compile()
    assert "pass a quern.cuda.texture.TextureObject" in str(caught.value)


def test_what_the_cpu_lacks_is_named(device):
    if not device.is_cpu:
        pytest.skip("GPUs have them")
    head = 'extern "C" __global__ void f(cudaTextureObject_t t, float4* p) {'
    for call, message in [
        ("*p = texCubemap<float4>(t, 0.0f, 0.0f, 0.0f);", "texCubemap.*no cubemaps"),
        ("*p = tex2Dgather<float4>(t, 0.0f, 0.0f, 0);", "tex2Dgather.*fetch the four texels"),
        ("p->x = tex1D<float3>(t, 0.0f).x;", "1, 2 or 4 channels"),
    ]:
        with pytest.raises(quern.CompileError, match=message):
            quern.RawKernel(head + call + "}", "f").compile()
