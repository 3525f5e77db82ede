// Inline PTX as published programs use it: hashes, big integers, sort keys, lanes that work together, streaming copies,
// named barriers.

// --- SHA-256: choice, majority and the sums of three by lop3, rotations by shf ---
__device__ __forceinline__ unsigned rotate(unsigned x, unsigned n) {
    unsigned r;
    asm("shf.r.wrap.b32 %0, %1, %1, %2;" : "=r"(r) : "r"(x), "r"(n));
    return r;
}
template <int table> __device__ __forceinline__ unsigned lop3(unsigned a, unsigned b, unsigned c) {
    unsigned r;
    asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(a), "r"(b), "r"(c), "n"(table));
    return r;
}
__device__ __forceinline__ unsigned swap_bytes(unsigned x) {
    unsigned r;
    asm("prmt.b32 %0, %1, 0, 0x0123;" : "=r"(r) : "r"(x));
    return r;
}
extern "C" __global__ void sha256(const unsigned* blocks, const unsigned* round_constants, unsigned* states, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned w[64], s[8];
    for (int t = 0; t < 16; ++t) w[t] = swap_bytes(blocks[16 * i + t]);
    for (int t = 16; t < 64; ++t) {
        unsigned a = w[t - 15], b = w[t - 2];
        w[t] = w[t - 16] + lop3<0x96>(rotate(a, 7), rotate(a, 18), a >> 3) + w[t - 7] + lop3<0x96>(rotate(b, 17), rotate(b, 19), b >> 10);
    }
    for (int k = 0; k < 8; ++k) s[k] = states[8 * i + k];
    for (int t = 0; t < 64; ++t) {
        unsigned first = s[7] + lop3<0x96>(rotate(s[4], 6), rotate(s[4], 11), rotate(s[4], 25)) + lop3<0xca>(s[4], s[5], s[6]) + round_constants[t] + w[t];
        unsigned second = lop3<0x96>(rotate(s[0], 2), rotate(s[0], 13), rotate(s[0], 22)) + lop3<0xe8>(s[0], s[1], s[2]);
        s[7] = s[6], s[6] = s[5], s[5] = s[4], s[4] = s[3] + first, s[3] = s[2], s[2] = s[1], s[1] = s[0], s[0] = first + second;
    }
    for (int k = 0; k < 8; ++k) states[8 * i + k] += s[k];
}

// --- Keccak's chi and theta on halves of 64-bit lanes ---
__device__ __forceinline__ unsigned long long chi(unsigned long long a, unsigned long long b, unsigned long long c) {
    unsigned long long r;
    asm("{\n\t"
        ".reg .b32 a0, a1, b0, b1, c0, c1;\n\t"
        "mov.b64 {a0, a1}, %1;\n\t"
        "mov.b64 {b0, b1}, %2;\n\t"
        "mov.b64 {c0, c1}, %3;\n\t"
        "lop3.b32 a0, a0, b0, c0, 0xD2;\n\t"
        "lop3.b32 a1, a1, b1, c1, 0xD2;\n\t"
        "mov.b64 %0, {a0, a1};\n\t"
        "}" : "=l"(r) : "l"(a), "l"(b), "l"(c));
    return r;
}
__device__ __forceinline__ unsigned long long rotate_left(unsigned long long x, unsigned n) {
    unsigned long long r;
    asm("{\n .reg .b32 low, high, a, b;\n mov.b64 {low, high}, %1;\n"
        " .reg .pred swap;\n setp.ge.u32 swap, %2, 32;\n @swap mov.b64 {high, low}, %1; // by a whole word\n"
        " shf.l.wrap.b32 a, high, low, %2;\n shf.l.wrap.b32 b, low, high, %2;\n mov.b64 %0, {a, b};\n}" : "=l"(r) : "l"(x), "r"(n));
    return r;
}
extern "C" __global__ void keccak(unsigned long long* states, const unsigned long long* round_constants, int rounds, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long* s = states + 25 * i;
    for (int round = 0; round < rounds; ++round) {
        unsigned long long parity[5];
        for (int x = 0; x < 5; ++x) parity[x] = s[x] ^ s[x + 5] ^ s[x + 10] ^ s[x + 15] ^ s[x + 20];
        for (int x = 0; x < 5; ++x)
            for (int y = 0; y < 25; y += 5) s[x + y] ^= parity[(x + 4) % 5] ^ rotate_left(parity[(x + 1) % 5], 1);
        unsigned long long moving = s[1];
        for (int t = 0, x = 1, y = 0; t < 24; ++t) {
            int next = (2 * x + 3 * y) % 5;
            x = y, y = next;
            unsigned long long kept = s[x + 5 * y];
            s[x + 5 * y] = rotate_left(moving, (t + 1) * (t + 2) / 2 % 64);
            moving = kept;
        }
        for (int y = 0; y < 25; y += 5) {
            unsigned long long row[5];
            for (int x = 0; x < 5; ++x) row[x] = s[x + y];
            for (int x = 0; x < 5; ++x) s[x + y] = chi(row[x], row[(x + 1) % 5], row[(x + 2) % 5]);
        }
        s[0] ^= round_constants[round];
    }
}

// --- numbers of 128 bits ---
struct Wide {
    unsigned long long low, high;
};
extern "C" __global__ void wide(const Wide* a, const Wide* b, Wide* sum, Wide* difference, Wide* product, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    asm("add.cc.u64 %0, %2, %4;\n\taddc.u64 %1, %3, %5;" : "=l"(sum[i].low), "=l"(sum[i].high)
        : "l"(a[i].low), "l"(a[i].high), "l"(b[i].low), "l"(b[i].high));
    asm("sub.cc.u64 %0, %2, %4;\n\tsubc.u64 %1, %3, %5;" : "=l"(difference[i].low), "=l"(difference[i].high)
        : "l"(a[i].low), "l"(a[i].high), "l"(b[i].low), "l"(b[i].high));
    Wide p;
    asm("mul.lo.u64 %0, %2, %4;\n\tmul.hi.u64 %1, %2, %4;\n\t"
        "mad.lo.u64 %1, %2, %5, %1;\n\tmad.lo.u64 %1, %3, %4, %1;" : "=&l"(p.low), "=&l"(p.high)
        : "l"(a[i].low), "l"(a[i].high), "l"(b[i].low), "l"(b[i].high));
    product[i] = p;
}

// --- keys of a radix sort: floats in order as integers, digits by bfe, a histogram in shared memory ---
extern "C" __global__ void digits(const float* x, unsigned* counts, int n, int bit) {
    __shared__ unsigned count[256];
    count[threadIdx.x] = 0;
    asm volatile("bar.sync 0;" ::: "memory");
    unsigned base;
    asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(base) : "l"(count));
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned key, digit;
        asm("{ .reg .s32 mask; .reg .b32 bits; mov.b32 bits, %1; shr.s32 mask, bits, 31;\n"
            "  or.b32 mask, mask, 0x80000000; xor.b32 %0, bits, mask; }" : "=r"(key) : "f"(x[i]));
        asm("bfe.u32 %0, %1, %2, 8;" : "=r"(digit) : "r"(key), "r"(bit));
        asm volatile("red.shared.add.u32 [%0], 1;" :: "r"(base + 4 * digit) : "memory");
    }
    asm volatile("bar.sync 0;" ::: "memory");
    asm volatile("red.global.add.u32 [%0], %1;" :: "l"(counts + threadIdx.x), "r"(count[threadIdx.x]) : "memory");
}

// --- one atomic operation for all lanes that are here together ---
extern "C" __global__ void compact(const int* x, int* out, unsigned* length, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || x[i] < 0) return;
    unsigned active, below, leader, first = 0;
    asm volatile("activemask.b32 %0;" : "=r"(active));
    asm("mov.u32 %0, %lanemask_lt;" : "=r"(below));
    asm("{ .reg .u32 t; brev.b32 t, %1; bfind.shiftamt.u32 %0, t; }" : "=r"(leader) : "r"(active));
    unsigned rank = __popc(active & below);
    if (rank == 0) asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(first) : "l"(length), "r"(__popc(active)) : "memory");
    asm volatile("shfl.sync.idx.b32 %0, %0, %1, 0x1f, %2;" : "+r"(first) : "r"(leader), "r"(active));
    out[first + rank] = x[i];
}

// --- a copy past the caches, and where and when it ran ---
extern "C" __global__ void stream(const uint4* from, uint4* to, unsigned long long* times, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long begin, end;
    unsigned place;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    asm volatile("mov.u32 %0, %smid;" : "=r"(place));
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from + i));
    asm volatile("st.global.cs.v4.u32 [%0], {%1,%2,%3,%4};" :: "l"(to + i), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(end));
    times[i] = end - begin + 0 * place;
}

// --- producers fill what consumers empty, a pair of barriers for each of two halves ---
extern "C" __global__ void pipeline(const int* in, int* out, int rounds) {
    __shared__ int slots[2][64];
    int t = threadIdx.x % 64;
    bool produces = threadIdx.x < 64;
    for (int k = 0; k < rounds; ++k) {
        int half = k & 1;
        if (produces) slots[half][t] = in[64 * k + t] * 2;
        asm volatile("bar.sync %0, 128;" :: "r"(1 + half) : "memory");
        if (!produces) out[64 * k + t] = slots[half][63 - t] + 1;
    }
}
