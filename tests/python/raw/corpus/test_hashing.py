"""Integers: MD5, SHA-256, xxHash, AES, hash tables by compare-and-swap, string search, sums in words."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

import quern

DIGESTS = r"""
typedef unsigned int u32;
__constant__ u32 sines[64] = {SINES}, primes[64] = {PRIMES};
__constant__ unsigned char turns[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
__device__ __forceinline__ u32 rotl(u32 x, int n) { return (x << n) | (x >> (32 - n)); }
#define ROTR(x, n) __funnelshift_r((x), (x), (n))

// One message of less than 56 bytes a thread, padded by the host to a block of 64.
extern "C" __global__ void md5(const u32* messages, uint4* digests, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const u32* m = messages + 16 * i;
    u32 a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
#pragma unroll 16
    for (int k = 0; k < 64; ++k) {
        u32 f;
        int g;
        switch (k / 16) {
        case 0: f = (b & c) | (~b & d), g = k; break;
        case 1: f = (d & b) | (~d & c), g = (5 * k + 1) % 16; break;
        case 2: f = b ^ c ^ d, g = (3 * k + 5) % 16; break;
        default: f = c ^ (b | ~d), g = 7 * k % 16;
        }
        u32 t = d;
        d = c, c = b;
        b += rotl(a + f + sines[k] + m[g], turns[k / 16 * 4 + k % 4]);
        a = t;
    }
    digests[i] = make_uint4(a + 0x67452301, b + 0xefcdab89, c + 0x98badcfe, d + 0x10325476);
}

extern "C" __global__ void sha256(const u32* messages, u32* digests, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const u32 start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    u32 w[64], h[8];
    for (int k = 0; k < 16; ++k) w[k] = __byte_perm(messages[16 * i + k], 0, 0x0123);
    for (int k = 16; k < 64; ++k) {
        u32 x = w[k - 15], y = w[k - 2];
        w[k] = w[k - 16] + (ROTR(x, 7) ^ ROTR(x, 18) ^ x >> 3) + w[k - 7] + (ROTR(y, 17) ^ ROTR(y, 19) ^ y >> 10);
    }
    for (int k = 0; k < 8; ++k) h[k] = start[k];
    for (int k = 0; k < 64; ++k) {
        u32 e = h[4], a = h[0];
        u32 t = h[7] + (ROTR(e, 6) ^ ROTR(e, 11) ^ ROTR(e, 25)) + ((e & h[5]) ^ (~e & h[6])) + primes[k] + w[k];
        u32 s = (ROTR(a, 2) ^ ROTR(a, 13) ^ ROTR(a, 22)) + ((a & h[1]) ^ (a & h[2]) ^ (h[1] & h[2]));
        for (int j = 7; j > 0; --j) h[j] = h[j - 1];
        h[4] += t, h[0] = t + s;
    }
    for (int k = 0; k < 8; ++k) digests[8 * i + k] = __byte_perm(h[k] + start[k], 0, 0x0123);
}
"""

CODE = r"""
typedef unsigned int u32;
// xxHash32 of `length` bytes from every offset.
extern "C" __global__ void xxhash(const unsigned char* text, u32* out, int n, int length, u32 seed) {
    const u32 p1 = 2654435761U, p2 = 2246822519U, p3 = 3266489917U, p4 = 668265263U, p5 = 374761393U;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > n - length) return;
    auto turn = [](u32 x, int r) { return __funnelshift_l(x, x, r); };
    const unsigned char *p = text + i, *end = p + length;
    auto word = [&] {
        u32 w = p[0] | p[1] << 8 | p[2] << 16 | (u32)p[3] << 24;
        p += 4;
        return w;
    };
    u32 h;
    if (length >= 16) {
        u32 v[4] = {seed + p1 + p2, seed + p2, seed, seed - p1};
        do {
            for (int k = 0; k < 4; ++k) v[k] = turn(v[k] + word() * p2, 13) * p1;
        } while (p <= end - 16);
        h = turn(v[0], 1) + turn(v[1], 7) + turn(v[2], 12) + turn(v[3], 18);
    } else h = seed + p5;
    h += length;
    while (p + 4 <= end) h = turn(h + word() * p3, 17) * p4;
    while (p < end) h = turn(h + *p++ * p5, 11) * p1;
    h ^= h >> 15, h *= p2, h ^= h >> 13, h *= p3, h ^= h >> 16;
    out[i] = h;
}

// AES-128 from byte tables in shared memory, a block of 16 bytes a thread.
extern "C" __global__ void aes(const unsigned char* sbox, const unsigned char* keys, unsigned char* data,
                               int blocks) {
    __shared__ unsigned char s[256], k[176];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = sbox[i];
    for (int i = threadIdx.x; i < 176; i += blockDim.x) k[i] = keys[i];
    __syncthreads();
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= blocks) return;
    unsigned char x[16], y[16];
    *reinterpret_cast<uint4*>(y) = reinterpret_cast<uint4*>(data)[b];
    for (int i = 0; i < 16; ++i) y[i] ^= k[i];
    for (int round = 1; round <= 10; ++round) {
        for (int i = 0; i < 16; ++i) x[i] = s[y[(i + 4 * (i % 4)) % 16]];
        for (int c = 0; c < 4; ++c) {
            unsigned char *p = x + 4 * c, all = p[0] ^ p[1] ^ p[2] ^ p[3], first = p[0];
            for (int r = 0; r < 4 && round < 10; ++r) {
                unsigned char pair = p[r] ^ (r < 3 ? p[r + 1] : first);
                p[r] ^= all ^ (unsigned char)(pair << 1 ^ (pair & 0x80 ? 0x1b : 0));
            }
        }
        for (int i = 0; i < 16; ++i) y[i] = x[i] ^ k[16 * round + i];
    }
    reinterpret_cast<uint4*>(data)[b] = *reinterpret_cast<uint4*>(y);
}

// Open addressing; a slot holds key and count in 64 bits, taken and changed by compare-and-swap.
typedef unsigned long long u64;
#define EMPTY 0xffffffffffffffffULL
__device__ u32 mix(u32 k) {
    k ^= k >> 16;
    k *= 0x85ebca6b;
    k ^= k >> 13;
    k *= 0xc2b2ae35;
    return k ^ k >> 16;
}
extern "C" __global__ void insert(u64* table, u32 mask, const u32* keys, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u32 key = keys[i], slot = mix(key) & mask;
    for (;;) {
        u64 seen = atomicCAS(&table[slot], EMPTY, (u64)key << 32 | 1);
        if (seen == EMPTY) return;
        while ((u32)(seen >> 32) == key) {
            u64 before = atomicCAS(&table[slot], seen, seen + 1);
            if (before == seen) return;
            seen = before;
        }
        slot = (slot + 1) & mask;
    }
}
extern "C" __global__ void look_up(const u64* table, u32 mask, const u32* keys, u32* counts, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u32 slot = mix(keys[i]) & mask;
    while (table[slot] != EMPTY && (u32)(table[slot] >> 32) != keys[i]) slot = (slot + 1) & mask;
    counts[i] = table[slot] == EMPTY ? 0 : (u32)table[slot];
}

// A lock per bucket, taken by compare-and-swap, let go by exchange.
extern "C" __global__ void locked(int* locks, volatile int* sums, const int* keys, int buckets, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool done = i >= n;
    while (!done) {
        int b = keys[i] % buckets;
        if (atomicCAS(&locks[b], 0, 1) == 0) {
            sums[b] = sums[b] + keys[i];
            __threadfence();
            atomicExch(&locks[b], 0);
            done = true;
        }
    }
}

// All places of a pattern: every start, and by Horspool's table over pieces.
struct Pattern {
    int length;
    char letters[28];
};
extern "C" __global__ void find_all(const char* text, int n, Pattern pattern, int* found) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = 0, m = pattern.length;
    if (i > n - m) return;
    while (k < m && text[i + k] == pattern.letters[k]) ++k;
    if (k == m) atomicAdd(found, 1);
}
extern "C" __global__ void horspool(const unsigned char* text, int n, const Pattern pattern, int piece, int* found) {
    const int m = pattern.length;
    __shared__ int skip[256];
    for (int c = threadIdx.x; c < 256; c += blockDim.x) skip[c] = m;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int k = 0; k < m - 1; ++k) skip[(unsigned char)pattern.letters[k]] = m - 1 - k;
    __syncthreads();
    int from = (blockIdx.x * blockDim.x + threadIdx.x) * piece, to = min(from + piece, n - m + 1), count = 0;
    for (int i = from; i < to; i += skip[text[i + m - 1]]) {
        int k = m - 1;
        while (k >= 0 && text[i + k] == (unsigned char)pattern.letters[k]) --k;
        count += k < 0;
    }
    if (count) atomicAdd(found, count);
}

// Bytes and halves of a word at a time.
extern "C" __global__ void lanes(const u32* a, const u32* b, u32* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u32 x = a[i], y = b[i];
    const u32 results[] = {__vadd4(x, y),    __vsub2(x, y),  __vabsdiffu4(x, y), __vmaxs4(x, y),  __vminu2(x, y),
                           __vcmpgtu4(x, y), __vavgu4(x, y), __vsadu4(x, y),     __vaddus4(x, y), __vsubss2(x, y)};
    for (int k = 0; k < 10; ++k) out[k * n + i] = results[k];
}
"""


@pytest.fixture(scope="module")
def module():
    return quern.RawModule(code=CODE)


def padded(messages, big):
    blocks = np.zeros((len(messages), 64), "u1")
    for block, message in zip(blocks, messages, strict=True):
        block[: len(message)] = np.frombuffer(message, "u1")
        block[len(message)] = 0x80
        block[56:] = np.frombuffer((8 * len(message)).to_bytes(8, "big" if big else "little"), "u1")
    return blocks.view("u4")


def constants():
    primes = [p for p in range(2, 312) if all(p % q for q in range(2, int(p**0.5) + 1))]
    roots = [int(np.float64(p ** (1 / 3) % 1) * 2**32) for p in primes]
    sines = [int(abs(np.sin(k + 1.0)) * 2**32) for k in range(64)]
    return np.array(sines, "u4"), np.array(roots, "u4")


@pytest.mark.parametrize("count", [1, 200])
def test_digests(device, count):
    text = DIGESTS
    for name, values in zip(("SINES", "PRIMES"), constants(), strict=True):
        text = text.replace(name, ", ".join(f"{v}u" for v in values))
    module = quern.RawModule(code=text)
    random = np.random.default_rng(count)
    messages = [random.bytes(int(k)) for k in random.integers(0, 56, count)]
    found = quern.zeros((count, 4), "u4")
    args = (quern.asarray(padded(messages, False)), found, count)
    module.get_function("md5")((-(-count // 64),), (64,), args, strict=False)
    assert [d.tobytes() for d in found.get()] == [hashlib.md5(m).digest() for m in messages]
    found = quern.zeros((count, 8), "u4")
    module.get_function("sha256")(
        (-(-count // 50),), (50,), (quern.asarray(padded(messages, True)), found, count)
    )
    assert [d.tobytes() for d in found.get()] == [hashlib.sha256(m).digest() for m in messages]


def xxhash32(text, seed):
    p, mask = (2654435761, 2246822519, 3266489917, 668265263, 374761393), 0xFFFFFFFF

    def turn(x, r):
        return (x << r | x >> (32 - r)) & mask

    words = [int.from_bytes(text[k : k + 4], "little") for k in range(0, len(text) - 3, 4)]
    at, h = 0, seed + p[4]
    if len(text) >= 16:
        v = [(seed + p[0] + p[1]) & mask, (seed + p[1]) & mask, seed, (seed - p[0]) & mask]
        for at in range(0, len(text) // 16 * 4, 4):
            v = [turn((v[k] + words[at + k] * p[1]) & mask, 13) * p[0] & mask for k in range(4)]
        at += 4
        h = turn(v[0], 1) + turn(v[1], 7) + turn(v[2], 12) + turn(v[3], 18)
    h = (h + len(text)) & mask
    for w in words[at:]:
        h = turn((h + w * p[2]) & mask, 17) * p[3] & mask
    for byte in text[4 * len(words) :]:
        h = turn((h + byte * p[4]) & mask, 11) * p[0] & mask
    h = (h ^ h >> 15) * p[1] & mask
    h = (h ^ h >> 13) * p[2] & mask
    return h ^ h >> 16


@pytest.mark.parametrize("length", [0, 3, 15, 16, 37])
def test_xxhash(device, module, length):
    assert xxhash32(b"", 0) == 0x02CC5D05
    text = np.random.default_rng(1).integers(0, 256, 100).astype("u1")
    out = quern.zeros(101 - length, "u4")
    args = (quern.asarray(text), out, 100, length, np.uint32(77))
    module.get_function("xxhash")((2,), (64,), args)
    wanted = [xxhash32(text[i : i + length].tobytes(), 77) for i in range(101 - length)]
    np.testing.assert_array_equal(out.get(), wanted)


def aes_tables(key):
    power, log = [1], {}
    for _ in range(255):  # powers of 3
        x = power[-1]
        power.append(x ^ (x << 1 & 0xFF) ^ (0x1B if x & 0x80 else 0))
    log = {x: k for k, x in enumerate(power[:255])}
    sbox = [0x63]
    for x in range(1, 256):
        y = power[(255 - log[x]) % 255]
        sbox.append(
            y ^ 0x63 ^ np.bitwise_xor.reduce([(y << k | y >> (8 - k)) & 0xFF for k in range(1, 5)])
        )
    words, turn = [list(key[4 * k : 4 * k + 4]) for k in range(4)], 1
    for k in range(4, 44):
        w = list(words[k - 1])
        if k % 4 == 0:
            w = [sbox[b] for b in w[1:] + w[:1]]
            w[0] ^= turn
            turn = turn << 1 ^ (0x11B if turn & 0x80 else 0)
        words.append([a ^ b for a, b in zip(w, words[k - 4], strict=True)])
    return np.array(sbox, "u1"), np.array(words, "u1").ravel()


def test_aes(device, module):
    # The example of FIPS 197, appendix C.1, then blocks that only differ in one place.
    sbox, keys = aes_tables(bytes(range(16)))
    data = np.tile(np.frombuffer(bytes(range(0, 256, 17)), "u1"), (70, 1))
    data[1:, 3] ^= np.arange(1, 70, dtype="u1")
    out = quern.asarray(data)
    module.get_function("aes")((3,), (32,), (quern.asarray(sbox), quern.asarray(keys), out, 70))
    found = out.get()
    assert found[0].tobytes().hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"
    for plain, cipher in zip(data, found, strict=True):
        assert cipher.tobytes() == aes_encrypt(plain, sbox, keys)


def aes_encrypt(plain, sbox, keys):
    def double(v):
        return (v << 1 & 0xFF) ^ np.where(v & 0x80, 0x1B, 0)

    state = plain.astype(int).reshape(4, 4).T ^ keys[:16].astype(int).reshape(4, 4).T
    for turn in range(1, 11):
        state = np.array([np.roll(row, -k) for k, row in enumerate(sbox.astype(int)[state])])
        if turn < 10:
            ahead = np.roll(state, -1, 0)
            state = (
                double(state)
                ^ double(ahead)
                ^ ahead
                ^ np.roll(state, -2, 0)
                ^ np.roll(state, -3, 0)
            )
        state ^= keys[16 * turn : 16 * turn + 16].astype(int).reshape(4, 4).T
    return state.T.astype("u1").tobytes()


@pytest.mark.parametrize(("n", "size"), [(1, 2), (1000, 1024), (3000, 4096)])
def test_hash_table(device, module, n, size):
    random = np.random.default_rng(n)
    keys = random.integers(0, max(1, min(size - 1, n // 2)), n).astype("u4") * np.uint32(2654435)
    table = quern.full(size, 2**64 - 1, "u8")
    mask = np.uint32(size - 1)
    module.get_function("insert")((-(-n // 96),), (96,), (table, mask, quern.asarray(keys), n))
    asked = np.concatenate([np.unique(keys), random.integers(0, 2**32, 50).astype("u4")])
    counts = quern.zeros(len(asked), "u4")
    args = (table, mask, quern.asarray(asked), counts, len(asked))
    module.get_function("look_up")((-(-len(asked) // 64),), (64,), args)
    np.testing.assert_array_equal(counts.get(), [(keys == k).sum() for k in asked])


@pytest.mark.parametrize(("n", "buckets"), [(40, 1), (500, 7)])
def test_locks(device, module, n, buckets):
    keys = np.random.default_rng(n).integers(0, 1000, n).astype("i4")
    locks, sums = quern.zeros(buckets, "i4"), quern.zeros(buckets, "i4")
    module.get_function("locked")(
        (-(-n // 64),), (64,), (locks, sums, quern.asarray(keys), buckets, n)
    )
    np.testing.assert_array_equal(sums.get(), np.bincount(keys % buckets, keys, buckets))
    assert not locks.get().any()


@pytest.mark.parametrize("pattern", [b"a", b"abab", b"aaaaaaaa", b"bacb"])
def test_string_search(device, module, pattern):
    text = np.random.default_rng(9).choice(np.frombuffer(b"aaaabbc", "i1"), 5003)
    given = np.zeros(1, [("length", "i4"), ("letters", "i1", 28)])[0]
    given["length"], given["letters"][: len(pattern)] = len(pattern), list(pattern)
    joined = text.tobytes()
    wanted = sum(joined.startswith(pattern, k) for k in range(len(joined)))
    found = quern.zeros(2, "i4")
    module.get_function("find_all")((40,), (128,), (quern.asarray(text), 5003, given, found[:1]))
    args = (quern.asarray(text.view("u1")), 5003, given, 61, found[1:])
    module.get_function("horspool")((3,), (32,), args)
    assert found.get().tolist() == [wanted, wanted]


def test_lanes(device, module):
    n = 333
    a, b = np.random.default_rng(10).integers(0, 2**32, (2, n)).astype("u4")
    out = quern.zeros((10, n), "u4")
    module.get_function("lanes")((3,), (128,), (quern.asarray(a), quern.asarray(b), out, n))
    b1, b2, h1, h2 = (v.view(t).astype(int) for t in ("u1", "u2") for v in (a, b))
    s1, s2, w1, w2 = (v.view(t).astype(int) for t in ("i1", "i2") for v in (a, b))
    wanted = [
        (b1 + b2).astype("u1"), (h1 - h2).astype("u2"), abs(b1 - b2).astype("u1"), np.maximum(s1, s2).astype("i1"),
        np.minimum(h1, h2).astype("u2"), np.where(b1 > b2, 255, 0).astype("u1"), ((b1 + b2 + 1) // 2).astype("u1"),
        abs(b1 - b2).reshape(n, 4).sum(1).astype("u4"), np.minimum(b1 + b2, 255).astype("u1"),
        np.clip(w1 - w2, -32768, 32767).astype("i2"),
    ]  # fmt: skip
    for found, values in zip(out.get(), wanted, strict=True):
        np.testing.assert_array_equal(found, values.view("u4"))
