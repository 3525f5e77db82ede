"""Small programs of finance, statistics, signals, geometry and earth science."""

import math

import numpy as np
from fuse.corpus.cases import Array, case

P = Array("n m", low=0.01, high=0.99)


def normal_cdf(x):
    t = 1 / (1 + 0.2316419 * np.abs(x))
    tail = t * (
        0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429)))
    )
    density = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    return np.where(x >= 0, 1 - density * tail, density * tail)


@case(
    Array("n m", low=10, high=50),
    Array("n m", low=10, high=50),
    Array("n m", low=0.25, high=5),
    0.02,
    0.3,
    near_zero=50,
    tolerance=32,
)
def black_scholes(spot, strike, years, rate, volatility):
    root = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / root
    d2 = d1 - root
    discounted = strike * np.exp(-rate * years)
    call = spot * normal_cdf(d1) - discounted * normal_cdf(d2)
    return call, call - spot + discounted


@case(Array("n m", low=-0.02, high=0.02), sizes="main", near_zero=1, epsilon_of="T")
def sharpe_ratio(returns, free=0.0001, periods=252):
    excess = returns - free
    return np.sqrt(periods) * excess.mean(axis=1) / excess.std(axis=1, ddof=1)


@case(Array("n", low=1, high=9), Array("m", low=0.01, high=0.1), sizes="main ones", near_zero=16)
def bond_price(coupons, yields):
    years = np.arange(1, coupons.shape[0] + 1)
    discount = (1 + yields[:, None]) ** -years
    price = (coupons * discount).sum(axis=1) + 100 * discount[:, -1]
    duration = (years * coupons * discount).sum(axis=1) / price
    return price, duration


@case(Array("n m", low=20, high=30), sizes="main", near_zero=30)
def bollinger_bands(price, window=8):
    last = price.shape[1] - window + 1
    mean = sum(price[:, i : i + last] for i in range(window)) / window
    var = sum((price[:, i : i + last] - mean) ** 2 for i in range(window)) / window
    return mean - 2 * np.sqrt(var), mean, mean + 2 * np.sqrt(var)


@case(Array("9 m", low=20, high=30), sizes="main", near_zero=30)
def exponential_moving_average(price, alpha=0.3):
    out = np.empty_like(price)
    out[0] = price[0]
    for i in range(1, price.shape[0]):
        out[i] = alpha * price[i] + (1 - alpha) * out[i - 1]
    return out


@case(Array("n", low=1e5, high=4e5), Array("n", low=0.01, high=0.09), months=360)
def mortgage(principal, rate, months):
    r = rate / 12
    growth = (1 + r) ** months
    payment = principal * r * growth / (growth - 1)
    return payment, payment * months - principal


@case(Array("n m"), Array("m"), Array("m", low=0.5, high=2), near_zero=4)
def normal_log_density(x, mean, sigma):
    z = (x - mean) / sigma
    return (-0.5 * z * z - np.log(sigma) - 0.5 * math.log(2 * math.pi)).sum(axis=1)


@case(P, P, sizes="main ones", near_zero=1)
def divergence(p, q):
    p = p / p.sum(axis=1, keepdims=True)
    q = q / q.sum(axis=1, keepdims=True)
    middle = (p + q) / 2
    kl = np.where(p > 0, p * np.log(p / middle), 0).sum(axis=1)
    return kl, 0.5 * (kl + (q * np.log(q / middle)).sum(axis=1))


@case(Array("n m", distinct=True), Array("n m", distinct=True), sizes="main", near_zero=1)
def welch_t(x, y):
    n = x.shape[0]
    difference = x.mean(axis=0) - y.mean(axis=0)
    vx, vy = x.var(axis=0, ddof=1) / n, y.var(axis=0, ddof=1) / n
    freedom = (vx + vy) ** 2 / ((vx**2 + vy**2) / (n - 1))
    return difference / np.sqrt(vx + vy), freedom


@case(Array("n 2", distinct=True), sizes="main", near_zero=2)
def mahalanobis(points):
    d = points - points.mean(axis=0)
    x, y = d[:, 0], d[:, 1]
    a, b, c = (x * x).mean(), (x * y).mean(), (y * y).mean()
    return (c * x * x - 2 * b * x * y + a * y * y) / (a * c - b * b)


@case(Array("n", distinct=True), Array("n"), sizes="main", near_zero=4)
def line_fit(x, y):
    mx, my = x.mean(), y.mean()
    slope = ((x - mx) * (y - my)).sum() / ((x - mx) ** 2).sum()
    offset = my - slope * mx
    return slope, offset, y - (slope * x + offset)


@case(Array("n m"), sizes="main", near_zero=4)
def finite_response_filter(x):
    taps = [0.1, -0.2, 0.5, -0.2, 0.1]
    y = np.zeros_like(x)
    for delay, tap in enumerate(taps):
        y[:, len(taps) - 1 :] += tap * x[:, len(taps) - 1 - delay : x.shape[1] - delay]
    return y


@case(Array("12 n"), near_zero=4)
def biquad(x, b=(0.2, 0.4, 0.2), a=(-0.4, 0.2)):
    y = np.empty_like(x)
    x1 = x2 = y1 = y2 = np.zeros(x.shape[1], x.dtype)
    for t in range(x.shape[0]):
        now = b[0] * x[t] + b[1] * x1 + b[2] * x2 - a[0] * y1 - a[1] * y2
        x2, x1, y2, y1 = x1, x[t], y1, now
        y[t] = now
    return y


@case(Array("n m", low=0.001, high=1), reference=Array("n 1", low=0.5, high=1), near_zero=50)
def decibels(power, reference):
    db = 10 * np.log10(power / reference)
    return np.maximum(db, -60), 10 ** (db / 20)


@case(Array("n 64"), sizes="main", near_zero=4)
def zero_crossings_and_energy(x):
    frames = x.reshape(x.shape[0], 8, 8)
    crossings = (np.signbit(frames[..., 1:]) != np.signbit(frames[..., :-1])).sum(axis=-1)
    return crossings, (frames**2).mean(axis=-1)


@case(Array("n 4", low=0.2, high=1), Array("n 3"), near_zero=4)
def rotate_by_quaternion(q, v):
    q = q / np.sqrt((q * q).sum(axis=1, keepdims=True))
    w, x, y, z = (q[:, i] for i in range(4))
    vx, vy, vz = v[:, 0], v[:, 1], v[:, 2]
    tx, ty, tz = 2 * (y * vz - z * vy), 2 * (z * vx - x * vz), 2 * (x * vy - y * vx)
    out = np.empty_like(v)
    out[:, 0] = vx + w * tx + y * tz - z * ty
    out[:, 1] = vy + w * ty + z * tx - x * tz
    out[:, 2] = vz + w * tz + x * ty - y * tx
    return out


@case(Array("n 3"), Array("n 3", low=0.2, high=1), Array("3"), 1.5, oracle="same", tolerance=512)
def ray_sphere(origin, direction, centre, radius):
    direction = direction / np.sqrt((direction**2).sum(axis=1, keepdims=True))
    offset = origin - centre
    b = (offset * direction).sum(axis=1)
    c = (offset * offset).sum(axis=1) - radius * radius
    inside = b * b - c
    t = -b - np.sqrt(np.maximum(inside, 0))
    return np.where(inside >= 0, t, np.inf) > 0, inside > 0


@case(Array("n 3 2"), Array("2"), near_zero=8)
def triangle_areas_and_sides(corners, point):
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    u, v = b - a, c - a
    area = (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]) / 2
    sides = np.sqrt(((corners - corners[:, [1, 2, 0]]) ** 2).sum(axis=-1))
    return area, sides, ((point - a) * u).sum(axis=1)


@case(Array("n", low=-1.4, high=1.4), Array("n", low=-3, high=3), near_zero=6.4e6, tolerance=64)
def geodetic_to_cartesian(latitude, longitude, height=100.0):
    a, e2 = 6378137.0, 0.00669437999014
    s = np.sin(latitude)
    n = a / np.sqrt(1 - e2 * s * s)
    flat = (n + height) * np.cos(latitude)
    return flat * np.cos(longitude), flat * np.sin(longitude), (n * (1 - e2) + height) * s


@case(Array("*", low=-10, high=40), Array("*", low=5, high=99), near_zero=40)
def dew_point(celsius, humidity):
    gamma = np.log(humidity / 100) + 17.62 * celsius / (243.12 + celsius)
    return 243.12 * gamma / (17.62 - gamma)


@case(Array("h w", low=0.01, high=1), Array("h w", low=0.01, high=1), oracle="same")
def vegetation(red, infrared):
    index = (infrared - red) / (infrared + red)
    kind = np.digitize(index, np.array([-0.2, 0.1, 0.3], dtype=np.float64))
    return np.where(np.abs(index) < 0.05, 0, index), kind


@case(Array("n m", low=280, high=310), Array("m", low=0.5, high=1.2), near_zero=300)
def potential_temperature(kelvin, pressure):
    theta = kelvin * pressure**-0.286
    return theta, theta[:, 1:] - theta[:, :-1]


@case(Array("n 5"), Array("5", low=0.1, high=1), sizes="main ones", near_zero=2)
def portfolio_risk(returns, weights):
    w = weights / weights.sum()
    d = returns - returns.mean(axis=0)
    covariance = (d[:, :, None] * d[:, None, :]).mean(axis=0)
    variance = (w[:, None] * covariance * w).sum()
    return np.sqrt(variance), (covariance * w).sum(axis=1) / np.sqrt(variance + 1e-6)
