"""Three kernels on a photograph. Run me: `python examples/photo.py`, or `python -m quern demo --image mine.jpg`.

Each kernel is a string of CUDA C++ that runs once per element, on a GPU or on the CPU. Beside each stands the same
thing in NumPy, written on its own: the demo holds one against the other.
"""

from typing import Any

import numpy as np

import quern

Image = Any  # a NumPy array, height x width x 3, uint8

# 1. A tone curve. T is decided by the array that comes in: uint8 here, uint16 or float32 as well.
tone_curve = quern.ElementwiseKernel(
    "T x, float32 top, float32 lift, float32 contrast",
    "T y",
    """
    float v = x / top;                                   // 0 to 1
    v = v * (1 + lift) / (1 + lift * v);                 // open the shadows, keep black and white
    const float s = v * v * (3 - 2 * v);                 // an S through 0, 1/2 and 1
    v = v + contrast * (s - v);
    y = (T)(v * top + 0.5f);
    """,
    "tone_curve",
)


def numpy_tone_curve(x: Image, top: Any, lift: Any, contrast: Any) -> Image:
    top, lift, contrast = np.float32(top), np.float32(lift), np.float32(contrast)
    v = x.astype(np.float32) / top
    v = v * (1 + lift) / (1 + lift * v)
    v = v + contrast * (v * v * (3 - 2 * v) - v)
    return (v * top + np.float32(0.5)).astype(x.dtype)


# 2. An unsharp mask. `raw` hands over the whole array, so that an element can look at its neighbours; i is its own
#    place. The picture comes as rows of 3 * width numbers; y is a column and x a row, which broadcast over it. The two
#    outermost rows and columns of pixels stay as they are.
unsharp_mask = quern.ElementwiseKernel(
    "raw T src, int32 y, int32 x, float32 amount",
    "T out",
    """
    const ptrdiff_t height = src.shape()[0], pitch = src.shape()[1];
    out = src[i];
    if (y >= 2 && y < height - 2 && x >= 6 && x < pitch - 6) {
        int blur = 0;                                    // of 5 x 5 pixels, times 256
        for (int dy = -2; dy <= 2; ++dy)
            for (int dx = -2; dx <= 2; ++dx)
                blur += binomial(dy) * binomial(dx) * src[i + dy * pitch + dx * 3];
        const float here = src[i];
        const float sharp = here + amount * (here - blur / 256.0f);
        out = (T)(fminf(fmaxf(sharp, 0), 255) + 0.5f);
    }
    """,
    "unsharp_mask",
    preamble="""
    __device__ inline int binomial(int d) { return d == 0 ? 6 : (d * d == 1 ? 4 : 1); }   // 1 4 6 4 1
    """,
)


def numpy_unsharp_mask(src: Image, amount: float) -> Image:
    out = src.copy()
    height, width, channels = src.shape
    if height < 5 or width < 5:
        return out
    wide = src.astype(np.uint16)
    rows = np.zeros((height - 4, width, channels), np.uint16)
    blur = np.zeros((height - 4, width - 4, channels), np.uint16)  # times 256, at most 65280
    for k, weight in enumerate((1, 4, 6, 4, 1)):
        rows += weight * wide[k : height - 4 + k]
    for k, weight in enumerate((1, 4, 6, 4, 1)):
        blur += weight * rows[:, k : width - 4 + k]
    here = src[2:-2, 2:-2].astype(np.float32)
    sharp = here + np.float32(amount) * (here - blur.astype(np.float32) / np.float32(256))
    out[2:-2, 2:-2] = (np.clip(sharp, 0, 255) + np.float32(0.5)).astype(src.dtype)
    return out


# 3. A Julia set, blended in where its orbits are slow to escape. Three channels in and three out, which are strided
#    views of one picture; x is a row and y a column, which broadcast over it.
julia = quern.ElementwiseKernel(
    "T red, T green, T blue, float32 x, float32 y, float32 cx, float32 cy, int32 limit",
    "T red_out, T green_out, T blue_out",
    """
    float zx = x, zy = y, square = zx * zx + zy * zy;
    int steps = 0;
    while (steps < limit && square < 256) {
        const float next = zx * zx - zy * zy + cx;
        zy = 2 * zx * zy + cy;
        zx = next;
        square = zx * zx + zy * zy;
        ++steps;
    }
    float glow = 0;
    if (square >= 256) {                                 // escaped: a smooth count from 0 to 1
        const float count = steps + 3 - log2f(log2f(square));
        glow = fminf(fmaxf((count - 9) / 56, 0), 1);
    }
    red_out = screen<T>(red, sqrtf(glow));               // gold at the rim, paling inwards
    green_out = screen<T>(green, 0.95f * glow * (1.5f - 0.5f * glow));
    blue_out = screen<T>(blue, 0.75f * glow * glow);
    """,
    "julia",
    preamble="""
    template <class T> __device__ T screen(T under, float light) {
        return (T)(255 - (255 - under) * (1 - light) + 0.5f);
    }
    """,
)


def numpy_julia(photo: Image, x: Image, y: Image, cx: Any, cy: Any, limit: int) -> Image:
    shape = photo.shape[:2]
    z = np.empty(shape, np.complex64)
    z.real, z.imag = x, y
    zx, zy = z.real.copy().ravel(), z.imag.copy().ravel()
    cx, cy = np.float32(cx), np.float32(cy)
    square = zx * zx + zy * zy
    steps = np.zeros(zx.size, np.int32)
    going = np.flatnonzero(square < 256)
    for _ in range(limit):
        if going.size == 0:
            break
        px, py = zx[going], zy[going]
        zx[going] = px * px - py * py + cx
        zy[going] = 2 * px * py + cy
        square[going] = zx[going] * zx[going] + zy[going] * zy[going]
        steps[going] += 1
        going = going[square[going] < 256]
    count = steps.astype(np.float32) + 3 - np.log2(np.log2(np.maximum(square, 256)))
    glow = np.clip((count - 9) / np.float32(56), 0, 1)
    glow = np.where(square >= 256, glow, np.float32(0)).reshape(shape)
    light = [
        np.sqrt(glow),
        np.float32(0.95) * glow * (np.float32(1.5) - np.float32(0.5) * glow),
        np.float32(0.75) * glow * glow,
    ]
    under = 255 - photo.astype(np.float32)
    return (255 - under * (1 - np.stack(light, axis=-1)) + np.float32(0.5)).astype(photo.dtype)


def plane(height: int, width: int) -> tuple[Image, Image]:
    """The part of the complex plane under the picture: x as a row, y as a column; 0 is low in the middle."""
    unit = np.float32(3.4 / width)
    x = (np.arange(width, dtype=np.float32) - np.float32(width / 2)) * unit
    y = (np.float32(height * 0.74) - np.arange(height, dtype=np.float32)) * unit
    return x, y.reshape(height, 1)


if __name__ == "__main__":
    from quern._demo.run import main

    raise SystemExit(main())
