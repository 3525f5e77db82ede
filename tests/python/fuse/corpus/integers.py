"""Functions of integers and bools, exact in every bit."""

import numpy as np
from fuse.corpus.cases import Array, Scalar, case


@case(Array("*"), dtypes="I L", sizes="main ones empty")
def xorshift(state):
    state = state ^ (state << 13)
    state = state ^ (state >> 17)
    return state ^ (state << 5)


@case(Array("*", "uint32", 0, 2**31))
def murmur_finaliser(h):
    h = (h ^ (h >> 16)) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> 13)) * np.uint32(0xC2B2AE35)
    return h ^ (h >> 16)


@case(Array("*"), Array("*"), dtypes="B L ? bh")
def bit_logic(a, b):
    return (
        (a & b) | (a ^ b),
        ~a & b,
        np.bitwise_or(a, 1),
        np.invert(b),
        np.bitwise_xor(a, 3),
        np.bitwise_and(b, a),
    )


@case(Array("*", low=0, high=2**16 - 1), dtypes="I L l")
def morton(x):
    x = (x | (x << 8)) & 0x00FF00FF
    x = (x | (x << 4)) & 0x0F0F0F0F
    x = (x | (x << 2)) & 0x33333333
    return (x | (x << 1)) & 0x55555555


@case(Array("*"), dtypes="B L b i")
def popcounts(x):
    return np.bitwise_count(x), (x & 1) != 0, np.left_shift(x, 1), np.right_shift(x, 2)


@case(Array("*"), Array("*", low=1, high=9), dtypes="b i L")
def integer_division(a, b):
    quotient, rest = divmod(a, b)
    return a // b - quotient, a % b == rest, np.fmod(a, b), a / b, np.remainder(a, 7)


@case(Array("*", low=0, high=60), Array("*", low=1, high=60), dtypes="i l H")
def fractions(a, b):
    g = np.gcd(a, b)
    return a // g, b // g, np.lcm(a, b)


@case(Array("*", "uint8", 0, 255), Array("*", "uint8", 0, 255))
def saturating_add(a, b):
    wide = a.astype(np.uint16) + b
    return np.minimum(wide, 255).astype(np.uint8), np.where(a > b, a - b, 0).astype(np.uint8)


@case(Array("*", low=-120, high=120), Array("*", low=-120, high=120), dtypes="b B")
@case(Array("n m"), Scalar(100), dtypes="b B h")
def wraps_around(a, b):
    return a + b, a * b, a - b, -a, a * a * a


@case(Array("*", low=-1000, high=3000), dtypes="i l h")
def leap_years(year):
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    return leap, 365 + leap, np.where(leap, 29, 28)


@case(Array("n"), Array("m"), dtypes="h l")
def days_of_week(month, day):
    shifted = (month[:, None] + 9) % 12
    return (day + (153 * shifted + 2) // 5) % 7


@case(Array("*", "int16"), Array("*", "int16"))
def fixed_point_product(a, b):
    return ((a.astype(np.int32) * b + (1 << 7)) >> 8).astype(np.int16)


@case(Array("n m", low=0, high=255), Scalar(3, "int32"), dtypes="B i")
def posterise(pixels, bits):
    kept = pixels >> (8 - bits)
    return kept << (8 - bits), pixels - pixels % 2**3


@case(Array("n m", "int8"), Array("m", "float32", 0.01, 0.1), dtypes="f")
def dequantise(codes, steps):
    return (codes.astype(np.float32) - 3) * steps, codes * np.float32(0.5), codes * 0.5


@case(Array("*"), Array("*"), dtypes="?? ib LB")
def truth(a, b):
    return a > b, np.logical_or(a, b), (a != 0) ^ (b != 0), a + b, a == b


@case(Array("*", low=0, high=9), dtypes="i L b")
def small_powers(x):
    return x**2, x**3, np.power(x, x % 3), np.square(x), np.sign(x), np.absolute(x)


@case(Array("n", "uint8", 0, 255), sizes="main ones")
def crc8(data):
    crc = data ^ np.uint8(0xFF)
    for _ in range(8):
        crc = np.where(crc & 0x80, (crc << 1) ^ np.uint8(0x07), crc << 1)
    return crc


@case(Array("*", low=0, high=2**20), dtypes="i l")
def gray_code(x):
    code = x ^ (x >> 1)
    back = code
    for shift in (16, 8, 4, 2, 1):
        back = back ^ (back >> shift)
    return code, back == x
