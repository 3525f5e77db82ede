"""Steps of image pipelines."""

import numpy as np
from fuse.corpus.cases import Array, case

RGB = Array("h w 3", low=0, high=1)
GREY = Array("h w", low=0, high=1)
BYTES = Array("h w 3", "uint8", 0, 255)


@case(RGB, oracle="same", near_zero=1)
def srgb_to_linear(image):
    return np.where(image <= 0.04045, image / 12.92, ((image + 0.055) / 1.055) ** 2.4)


@case(BYTES, dtypes="f")
def grey_of_bytes(image):
    r, g, b = image[..., 0], image[..., 1], image[..., 2]
    wide = r.astype(np.uint32) * 77 + g.astype(np.uint32) * 150 + b.astype(np.uint32) * 29
    return (wide >> 8).astype(np.uint8)


@case(RGB, oracle="same", near_zero=8)
def rgb_to_hsv(image):
    r, g, b = image[..., 0], image[..., 1], image[..., 2]
    value = image.max(axis=-1)
    chroma = value - image.min(axis=-1)
    safe = np.where(chroma > 0, chroma, 1)
    hue = np.select(
        [chroma == 0, value == r, value == g],
        [chroma * 0, (g - b) / safe % 6, (b - r) / safe + 2],
        (r - g) / safe + 4,
    )
    return hue / 6, np.where(value > 0, chroma / np.where(value > 0, value, 1), 0), value


@case(BYTES, BYTES, Array("h w 1", "float32", 0, 1), dtypes="f", oracle="same")
def alpha_blend(front, back, alpha):
    mixed = front * alpha + back * (1 - alpha)
    return np.clip(mixed + 0.5, 0, 255).astype(np.uint8)


@case(GREY, sizes=("main", {"h": 3, "w": 3}), near_zero=4)
def sobel(image):
    a = image
    gx = a[:-2, 2:] + 2 * a[1:-1, 2:] + a[2:, 2:] - a[:-2, :-2] - 2 * a[1:-1, :-2] - a[2:, :-2]
    gy = a[2:, :-2] + 2 * a[2:, 1:-1] + a[2:, 2:] - a[:-2, :-2] - 2 * a[:-2, 1:-1] - a[:-2, 2:]
    return np.hypot(gx, gy), np.arctan2(gy, np.abs(gx) + 1)


@case(GREY, sizes=("main", {"h": 5, "w": 5}), near_zero=1)
def gaussian_blur(image):
    taps = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)
    h, w = image.shape
    rows = sum(t * image[i : h - 4 + i] for i, t in enumerate(taps))
    return sum(t * rows[:, i : w - 4 + i] for i, t in enumerate(taps))


@case(GREY, sizes="main", near_zero=2)
def unsharp_mask(image, amount=1.5):
    out = image.copy()
    inner = image[1:-1, 1:-1]
    mean = (image[:-2, 1:-1] + image[2:, 1:-1] + image[1:-1, :-2] + image[1:-1, 2:]) / 4
    out[1:-1, 1:-1] = np.clip(inner + amount * (inner - mean), 0, 1)
    return out


@case(Array("h w 3", low=0, high=8), near_zero=1)
def filmic_tone_map(radiance, exposure=0.7):
    x = radiance * exposure
    mapped = x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14)
    return np.clip(mapped, 0, 1) ** (1 / 2.2)


@case(GREY, sizes="main", near_zero=1)
def auto_levels(image):
    low, high = image.min(), image.max()
    stretched = (image - low) / (high - low)
    return (stretched * 255).astype(np.float32), stretched.mean()


@case(RGB, Array("3", low=0.2, high=0.8), near_zero=1, oracle="same")
def chroma_key(image, key, inner=0.2, outer=0.5):
    distance = np.sqrt(((image - key) ** 2).sum(axis=-1))
    alpha = np.clip((distance - inner) / (outer - inner), 0, 1)
    return np.concatenate([image * alpha[..., None], alpha[..., None]], axis=-1)


@case(Array("h w", "uint8", 0, 1), sizes="main", dtypes="f")
def game_of_life(board):
    neighbours = sum(
        np.roll(board, (dy, dx), axis=(0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx
    )
    return ((neighbours == 3) | ((board == 1) & (neighbours == 2))).astype(np.uint8)


@case(Array("h w", low=0, high=1), oracle="same", sizes="main")
def dilate_and_erode(image):
    def neighbourhood(join, a):
        columns = join(join(a[:, :-2], a[:, 1:-1]), a[:, 2:])
        return join(join(columns[:-2], columns[1:-1]), columns[2:])

    grown = neighbourhood(np.maximum, image)
    return grown - neighbourhood(np.minimum, image), grown > 0.9


@case(RGB, sizes="main ones", near_zero=1)
def grey_world_balance(image):
    means = image.mean(axis=(0, 1))
    return np.minimum(image * (means.mean() / (means + 1e-3)), 1)


@case(Array("8 12", low=0, high=1), oracle="same", sizes="main")
def ordered_dither(image):
    bayer = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]]) / 16
    blocks = image.reshape(2, 4, 3, 4)
    return (blocks > bayer[None, :, None, :]).reshape(image.shape).astype(np.uint8) * 255


@case(BYTES, np.uint8(40), dtypes="f")
@case(BYTES, -30, dtypes="f")
def brightness(image, amount):
    return np.clip(image.astype(np.int16) + amount, 0, 255).astype(np.uint8)
