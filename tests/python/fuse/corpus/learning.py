"""Pieces of learning: optimisers, losses, cells."""

import math

import numpy as np
from fuse.corpus.cases import Array, Scalar, case

W = Array("n m", written=True)
G = Array("n m")
V = Array("n m", low=0, high=1, written=True)


@case(W, G, W, V, 3, near_zero=2)
@case(W, G, W, V, 1, rate=Scalar(0.1), dtypes="f", near_zero=2)
def adam(weights, gradient, m, v, step, rate=0.01, beta1=0.9, beta2=0.99, eps=1e-6):
    m *= beta1
    m += (1 - beta1) * gradient
    v *= beta2
    v += (1 - beta2) * gradient * gradient
    rate = rate * math.sqrt(1 - beta2**step) / (1 - beta1**step)
    weights -= rate * m / (np.sqrt(v) + eps)


@case(G, G, G, near_zero=2)
@case(G, G, G, nesterov=True, dtypes="f", near_zero=2)
def momentum(weights, gradient, velocity, rate=0.1, mu=0.9, nesterov=False):
    velocity = mu * velocity - rate * gradient
    if nesterov:
        return weights + mu * velocity - rate * gradient, velocity
    return weights + velocity, velocity


@case(W, G, V, near_zero=2)
def rms_prop(weights, gradient, mean_square):
    mean_square[...] = 0.9 * mean_square + 0.1 * gradient**2
    weights -= 0.01 * gradient / np.sqrt(mean_square + 1e-4)
    return weights


@case({"w": W, "b": Array("m", written=True)}, {"w": G, "b": Array("m")}, sizes="main", near_zero=2)
def layerwise_scaling(parameters, gradients):
    ratios = {}
    for key, w in parameters.items():
        g = gradients[key] + 0.01 * w
        ratio = np.sqrt((w * w).sum()) / (np.sqrt((g * g).sum()) + 1e-6)
        w -= (0.01 * ratio * g).astype(w.dtype)
        ratios[key] = ratio
    return ratios


@case(G, Array("n m", "?"), near_zero=2)
def focal_loss(logits, target, gamma=2.0):
    p = 1 / (1 + np.exp(-logits))
    right = np.where(target, p, 1 - p)
    return -((1 - right) ** gamma) * np.log(right + 1e-6)


@case(G, Array("n m", low=0, high=1), sizes="main ones", near_zero=2)
def logistic_loss(logits, labels):
    loss = np.maximum(logits, 0) - logits * labels + np.log1p(np.exp(-np.abs(logits)))
    return loss.mean()


@case(Array("n k"), Array("k"), Array("n", "?"), sizes="main ones", near_zero=4)
def logistic_gradient(x, w, y):
    p = 1 / (1 + np.exp(-(x * w).sum(axis=1)))
    error = p - y
    return (x * error[:, None]).mean(axis=0), error.mean()


@case(G, Array("n m", "?"), near_zero=2)
@case(G, None, dtypes="f")
def dropout(x, keep, rate=0.3):
    return x if keep is None else np.where(keep, x / (1 - rate), 0)


@case(Array("n 2"), Array("k 2"), oracle="same", sizes="main ones")
def assign_to_clusters(points, centres):
    d = ((points[:, None] - centres) ** 2).sum(axis=-1)
    label = d.argmin(axis=1)
    member = label[:, None] == np.arange(centres.shape[0])
    return label, member.sum(axis=0)


@case(Array("n 24"), Array("n 24"), Array("n 8"), near_zero=2)
def gated_unit(from_input, from_state, state):
    xr, xz, xn = (from_input[:, i * 8 : i * 8 + 8] for i in range(3))
    hr, hz, hn = from_state[:, :8], from_state[:, 8:16], from_state[:, 16:]
    reset = 1 / (1 + np.exp(-(xr + hr)))
    update = 1 / (1 + np.exp(-(xz + hz)))
    new = np.tanh(xn + reset * hn)
    return (1 - update) * new + update * state


@case(Array("n 32"), Array("n 8"), near_zero=2)
def long_short_term_cell(gates, cell):
    n = cell.shape[1]
    i, f, o = (1 / (1 + np.exp(-gates[:, k * n : (k + 1) * n])) for k in range(3))
    cell = f * cell + i * np.tanh(gates[:, 3 * n :])
    return o * np.tanh(cell), cell


@case(G, Array("n", "int64", 0, "m"), smoothing=0.1, sizes="main", near_zero=4, epsilon_of="T")
def smoothed_cross_entropy(logits, labels, smoothing):
    k = logits.shape[1]
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    hot = labels[:, None] == np.arange(k)
    target = hot * (1 - smoothing) + smoothing / k
    return -(target * log_p).sum(axis=1).mean()


@case(Array("b n k"), Array("b n k"), Array("b n k"), sizes="main ones", near_zero=2)
def attention(query, key, value):
    scores = (query[:, :, None] * key[:, None]).sum(axis=-1) / math.sqrt(query.shape[-1])
    scores = scores - scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores)
    weights /= weights.sum(axis=-1, keepdims=True)
    return (weights[..., None] * value[:, None]).sum(axis=2)


@case(G, Array("m"), Array("m", low=0.5, high=1), momentum=0.1, sizes="main", near_zero=2)
def running_statistics(x, mean, var, momentum):
    mean = (1 - momentum) * mean + momentum * x.mean(axis=0)
    var = (1 - momentum) * var + momentum * x.var(axis=0, ddof=1)
    return mean, var, (x - mean) / np.sqrt(var + 1e-5)


@case(Array("n k"), Array("m k"), sizes="main ones", near_zero=2)
def contrastive_logits(a, b, temperature=0.5):
    a = a / np.sqrt((a * a).sum(axis=1, keepdims=True))
    b = b / np.sqrt((b * b).sum(axis=1, keepdims=True))
    return (a[:, None, :] * b[None, :, :]).sum(axis=2) / temperature


@case(G, G, G, Array("n", low=0, high=1), near_zero=4)
def advantage(rewards, values, following, done, discount=0.95):
    delta = rewards + discount * following * (1 - done)[:, None] - values
    return delta, np.clip(np.exp(delta / 4), 0.8, 1.2) * delta


@case(G, near_zero=1, dtypes="f d")
def weight_to_int8(w):
    scale = np.maximum(np.abs(w).max(axis=1, keepdims=True, initial=0), 1e-6) / 127
    return np.round(w / scale).astype(np.int8), scale
