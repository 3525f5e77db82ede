"""Forty functions that people fuse, as expressions of `np` over x, y, z, vectors of n floats, m, a mask of them, k,
ints, X, Y, matrices of as many floats with rows of up to 1000, r, c, a row and a column like theirs.
"""

FUNCTIONS = """
add one | x + 1
axpy | 2.5 * x + y
multiply and add | x * y + z
polynomial | ((0.5 * x + 1.5) * x - 2.0) * x + 1.0
linear interpolation | x + (y - x) * z
sigmoid | 1 / (1 + np.exp(-x))
tanh | np.tanh(x * 0.5 + y)
gelu | 0.5 * x * (1 + np.tanh(0.7978846 * (x + 0.044715 * x * x * x)))
swish | x / (1 + np.exp(-x))
relu | np.maximum(x + y, 0)
leaky relu | np.where(x > 0, x, 0.01 * x)
clip and scale | np.clip(x, -1, 1) * 127
quantise | np.clip(np.rint(x * 127), -128, 127).astype(np.int8)
gaussian | np.exp(-0.5 * ((x - 0.1) / 1.3) ** 2) / 3.2586
log likelihood | -0.5 * np.log(6.2831853 * y) - 0.5 * (x - z) ** 2 / y
distance | np.sqrt((x - y) ** 2 + z * z)
polar | np.hypot(x, y) + np.arctan2(y, x)
huber | np.where(np.abs(x - y) < 1, 0.5 * (x - y) ** 2, np.abs(x - y) - 0.5)
masked | np.where(m, x * y, z)
both signs | np.sign(x) * np.sqrt(np.abs(x))
integers | (k * 3 + 7) % 11
bits | (k ^ (k >> 3)) & 255
compare | (x > y) & (y > z)
blend | m * x + (1 - m) * y
wave | np.sin(x) * np.cos(y)
decay | np.exp(-z) * np.cos(6.28 * x + y)
rotate | (x * 0.8 - y * 0.6, x * 0.6 + y * 0.8)
row and column | X * r + c
outer difference | (X - r) ** 2 * c
transposed | X.T * 2 + 1
reversed | x[::-1] - x
shifted | x[1:] - x[:-1]
sum of squares | np.sum(x * x)
mean squared error | np.mean((x - y) ** 2)
largest deviation | np.max(np.abs(x - y))
rows: sum of products | np.sum(X * Y, axis=1)
rows: softmax | (lambda e: e / e.sum(axis=1, keepdims=True))(np.exp(X - X.max(axis=1, keepdims=True)))
rows: normalise | X / np.sqrt(np.sum(X * X, axis=1, keepdims=True))
columns: standardise | (X - X.mean(axis=0)) / X.std(axis=0)
all: scale to one | (x - np.min(x)) / (np.max(x) - np.min(x))
"""


def functions() -> dict[str, str]:
    lines = (line.split("|", 1) for line in FUNCTIONS.strip().splitlines())
    return {name.strip(): text.strip() for name, text in lines}
