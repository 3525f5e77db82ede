"""Functions that reduce rows and go on with the rows: normalisations and their like."""

import numpy as np
from fuse.corpus.cases import Array, case


@case(Array("n m"), dtypes="f d e", sizes="main ones")
@case(Array("n m"), axis=0, sizes="main ones", dtypes="f")
@case(Array("b n k"), axis=1, sizes="main ones", dtypes="f")
def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


@case(Array("n m"), sizes="main ones", near_zero=1)
def log_softmax(x):
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))


@case(Array("n m"), sizes="main ones")
@case(Array("n m"), axis=0, sizes="main ones")
def logsumexp(x, axis=1):
    top = np.max(x, axis=axis, keepdims=True)
    return np.log(np.exp(x - top).sum(axis=axis)) + np.squeeze(top, axis)


@case(Array("n m"), Array("m"), Array("m"), sizes="main", near_zero=1)
@case(Array("b n k"), Array("k"), Array("k"), eps=1e-3, sizes="main ones", near_zero=1)
def layernorm(x, weight, bias, eps=1e-5):
    mean = x.mean(axis=-1, keepdims=True)
    var = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(var + eps) * weight + bias


@case(Array("n m"), Array("m"), sizes="main ones", near_zero=1)
def rms_norm(x, weight):
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6) * weight


@case(Array("n m", distinct=True), 0, sizes="main", near_zero=1)
@case(Array("n m"), 1, sizes="main", near_zero=1)
@case(Array("n m"), (0, 1), sizes="main", dtypes="f", near_zero=1)
def standardise(x, axis):
    return (x - x.mean(axis, keepdims=True)) / x.std(axis, keepdims=True)


@case(Array("n m"), sizes="main ones")
def l2_normalise(x):
    return x / np.maximum(np.sqrt(np.sum(x * x, axis=1, keepdims=True)), 1e-12)


@case(Array("n m", distinct=True), sizes="main", near_zero=1)
def stretch_to_unit(x):
    low = x.min(axis=0)
    high = x.max(axis=0)
    return (x - low) / (high - low)


@case(Array("n m"), Array("n m", "?"), sizes="main", near_zero=1)
def masked_softmax(scores, allowed):
    scores = np.where(allowed, scores, -1e4)
    e = np.exp(scores - scores.max(axis=1)[:, None])
    e = e * allowed
    return e / (e.sum(axis=1)[:, None] + 1e-9)


@case(Array("b c h w"), Array("c"), Array("c"), sizes="main", near_zero=1)
def batch_norm(x, gamma, beta):
    mean = x.mean(axis=(0, 2, 3), keepdims=True)
    var = ((x - mean) ** 2).mean(axis=(0, 2, 3), keepdims=True)
    y = (x - mean) / np.sqrt(var + 1e-5)
    return gamma[None, :, None, None] * y + beta[None, :, None, None], mean.ravel(), var.ravel()


@case(Array("b 6 h w"), groups=2, sizes="main", near_zero=1)
def group_norm(x, groups):
    b, c, h, w = x.shape
    g = x.reshape(b, groups, c // groups, h, w)
    mean = g.mean(axis=(2, 3, 4), keepdims=True)
    std = g.std(axis=(2, 3, 4), keepdims=True)
    return ((g - mean) / (std + 1e-5)).reshape(x.shape)


@case(Array("n m"), sizes="main ones", near_zero=1)
def double_centre(x):
    return x - x.mean(axis=0) - x.mean(axis=1)[:, None] + x.mean()


@case(Array("n m"), Array("n m"), sizes="main ones", near_zero=1)
def softmax_backward(y, gradient):
    return y * (gradient - (y * gradient).sum(axis=-1, keepdims=True))


@case(Array("n m"), Array("n m"), Array("m"), sizes="main", near_zero=4)
def layernorm_backward(gradient, x, weight):
    mean = x.mean(-1, keepdims=True)
    rstd = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    h = (x - mean) * rstd
    g = gradient * weight
    inner = (g * h).mean(-1, keepdims=True)
    return (
        rstd * (g - g.mean(-1, keepdims=True) - h * inner),
        (gradient * h).sum(0),
        gradient.sum(0),
    )


@case(Array("n m"), sizes="main ones", oracle="same", dtypes="f i")
def one_hot_of_best(x):
    return (np.arange(x.shape[1]) == x.argmax(axis=1)[:, None]).astype(x.dtype)


@case(Array("n m"), Array("n", "int64", 0, "m"), sizes="main", near_zero=1)
def cross_entropy(logits, labels):
    shifted = logits - logits.max(axis=1, keepdims=True)
    total = np.log(np.exp(shifted).sum(axis=1))
    return (total - shifted[np.arange(len(labels)), labels]).mean()


@case(Array("n m", low=0.1, high=3), sizes="main ones", near_zero=1)
def geometric_means(x):
    logs = np.log(x)
    mean = np.exp(logs.mean(axis=1))
    return mean, x / mean[:, None], np.exp(logs.std(axis=1))


@case(Array("n m"), sizes="main", near_zero=1)
def winsorise(x):
    mean, std = x.mean(axis=1, keepdims=True), x.std(axis=1, keepdims=True)
    return np.clip(x, mean - std, mean + std)


@case(Array("n m"), sizes="main ones", oracle="same", near_zero=1)
def softmax_in_place_of_temporaries(x):
    y = x - x.max(axis=1, keepdims=True)
    np.exp(y, out=y)
    y /= y.sum(axis=1, keepdims=True)
    return y
