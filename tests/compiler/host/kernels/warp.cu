// Every intrinsic of a warp, for each type: a thread does the same in one of two branches, so that lanes with different
// masks meet at different places. x, masks and sources have one entry a thread; gone threads leave first.
#define PLACE                                                                                                          \
    const unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);                            \
    if (gone[t]) return;                                                                                               \
    const unsigned mask = masks[t]

#define SHUFFLES(T, NAME)                                                                                              \
    __device__ void NAME##_all(unsigned t, unsigned mask, const T* x, const int* source, int width, T* out) {          \
        out[4 * t] = __shfl_sync(mask, x[t], source[t], width);                                                        \
        out[4 * t + 1] = __shfl_up_sync(mask, x[t], source[t], width);                                                 \
        out[4 * t + 2] = __shfl_down_sync(mask, x[t], source[t], width);                                               \
        out[4 * t + 3] = __shfl_xor_sync(mask, x[t], source[t], width);                                                \
    }                                                                                                                  \
    extern "C" __global__ void shuffle_##NAME(const T* x, const unsigned* masks, const unsigned char* gone,            \
                                              const int* source, int width, T* out) {                                  \
        PLACE;                                                                                                         \
        if (mask & 1) NAME##_all(t, mask, x, source, width, out);                                                      \
        else NAME##_all(t, mask, x, source, width, out);                                                               \
    }                                                                                                                  \
    extern "C" __global__ void match_##NAME(const T* x, const unsigned* masks, const unsigned char* gone,              \
                                            unsigned* out) {                                                           \
        PLACE;                                                                                                         \
        int same = 7;                                                                                                  \
        if (mask & 1) {                                                                                                \
            out[3 * t] = __match_any_sync(mask, x[t]);                                                                 \
            out[3 * t + 1] = __match_all_sync(mask, x[t], &same);                                                      \
        } else {                                                                                                       \
            out[3 * t + 1] = __match_all_sync(mask, x[t], &same);                                                      \
            out[3 * t] = __match_any_sync(mask, x[t]);                                                                 \
        }                                                                                                              \
        out[3 * t + 2] = same;                                                                                         \
    }
SHUFFLES(int, int)
SHUFFLES(unsigned, unsigned)
SHUFFLES(long, long)
SHUFFLES(unsigned long, ulong)
SHUFFLES(long long, llong)
SHUFFLES(unsigned long long, ullong)
SHUFFLES(float, float)
SHUFFLES(double, double)

extern "C" __global__ void votes(const int* x, const unsigned* masks, const unsigned char* gone, unsigned* out) {
    PLACE;
    __syncwarp(mask);
    if (mask & 1) {
        out[4 * t] = __ballot_sync(mask, x[t] > 0);
        out[4 * t + 1] = __any_sync(mask, x[t] > 40);
        out[4 * t + 2] = __all_sync(mask, x[t] < 40);
    } else {
        out[4 * t + 2] = __all_sync(mask, x[t] < 40);
        out[4 * t + 1] = __any_sync(mask, x[t] > 40);
        out[4 * t] = __ballot_sync(mask, x[t] > 0);
    }
    out[4 * t + 3] = __ballot_sync(mask, x[t] & 256); // any bit of a predicate counts
}

extern "C" __global__ void reductions(const int* x, const unsigned* masks, const unsigned char* gone, unsigned* out) {
    PLACE;
    const unsigned u = x[t];
    out += 9 * t;
    out[0] = __reduce_add_sync(mask, u);
    out[1] = __reduce_add_sync(mask, x[t]);
    out[2] = __reduce_min_sync(mask, u);
    out[3] = __reduce_max_sync(mask, u);
    out[4] = __reduce_min_sync(mask, x[t]);
    out[5] = __reduce_max_sync(mask, x[t]);
    out[6] = __reduce_and_sync(mask, u);
    out[7] = __reduce_or_sync(mask, u);
    out[8] = __reduce_xor_sync(mask, u);
}

// Lanes leave one after another; those that stay go on adding up what is left of their warp.
extern "C" __global__ void shrinking(const int* x, const int* rounds, int* out) {
    const int t = threadIdx.x;
    for (int round = 0; ; ++round) {
        if (round == rounds[t]) return;
        int sum = 0;
        for (int lane = 0; lane < 32; ++lane) {
            const int value = __shfl_sync(0xffffffffu, x[t] + round, lane);
            const unsigned here = __ballot_sync(0xffffffffu, 1);
            sum += here >> lane & 1 ? value : 0;
        }
        out[round * blockDim.x + t] = sum;
    }
}

// A lane writes what its neighbour reads after the warp has met.
extern "C" __global__ void rotate(int* x, int steps) {
    __shared__ int kept[1024];
    const int t = threadIdx.x, lane = t % warpSize, first = t - lane;
    const int lanes = min(warpSize, (int)blockDim.x - first);
    kept[t] = x[t];
    for (int step = 0; step < steps; ++step) {
        __syncwarp();
        const int next = kept[first + (lane + 1) % lanes];
        __syncwarp();
        kept[t] = next + step;
    }
    x[t] = kept[t];
}

// Lanes that happen to be together take tickets with one atomic operation.
extern "C" __global__ void tickets(const int* x, int* count, int* taken, unsigned* together) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[t] % 3 == 0) {
        const unsigned active = __activemask();
        const unsigned lane = threadIdx.x % 32;
        const int leader = __ffs(active) - 1;
        int base = 0;
        if (lane == leader) base = atomicAdd(count, __popc(active));
        base = __shfl_sync(active, base, leader);
        taken[t] = base + __popc(active & ((1u << lane) - 1));
        together[t] = active;
    }
}

// Lanes with equal keys find each other: round by round the first lane left calls its key, who has it goes.
extern "C" __global__ void peers(const int* x, unsigned* out) {
    const int t = threadIdx.x + blockDim.x * threadIdx.y;
    const int key = x[t];
    unsigned mine = 0;
    while (true) {
        const unsigned left = __activemask();
        const int called = __shfl_sync(left, key, __ffs(left) - 1);
        mine = __ballot_sync(left, key == called);
        if (key == called) break;
    }
    out[t] = mine;
}

// Narrow types go as int, as the overloads of CUDA have it.
extern "C" __global__ void narrow(const int* x, int* out) {
    const int t = threadIdx.x;
    const signed char a = (signed char)x[t];
    const unsigned char b = (unsigned char)x[t];
    const short c = (short)x[t];
    const bool d = x[t] & 1;
    out[6 * t] = __shfl_sync(~0u, a, t + 1);
    out[6 * t + 1] = __shfl_up_sync(~0u, b, 2);
    out[6 * t + 2] = __shfl_xor_sync(~0u, c, 3);
    out[6 * t + 3] = __shfl_down_sync(~0u, d, 4);
    out[6 * t + 4] = __reduce_add_sync(~0u, a);
    out[6 * t + 5] = __match_any_sync(~0u, c);
    const size_t size = x[t];
    const long long wide = x[t] * 5000000000ll;
    if (__shfl_sync(~0u, size, 0) != (size_t)x[t / 32 * 32]) out[6 * t] = -1;
    if (__shfl_sync(~0u, wide, 31) != x[t / 32 * 32 + 31] * 5000000000ll) out[6 * t] = -2;
}
