// char1 to double4, make_*, dim3, and the four variables that tell a thread its place.
#pragma once
#define __quern_vector(T, N, A1, A2, A4)                                                                               \
    struct __align__(A1) N##1 { T x; };                                                                               \
    struct __align__(A2) N##2 { T x, y; };                                                                            \
    struct N##3 { T x, y, z; };                                                                                       \
    struct __align__(A4) N##4 { T x, y, z, w; };                                                                      \
    __quern_fn constexpr N##1 make_##N##1(T x) { return {x}; }                                                       \
    __quern_fn constexpr N##2 make_##N##2(T x, T y) { return {x, y}; }                                               \
    __quern_fn constexpr N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; }                                       \
    __quern_fn constexpr N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }
__quern_vector(signed char, char, 1, 2, 4)
__quern_vector(unsigned char, uchar, 1, 2, 4)
__quern_vector(short, short, 2, 4, 8)
__quern_vector(unsigned short, ushort, 2, 4, 8)
__quern_vector(int, int, 4, 8, 16)
__quern_vector(unsigned int, uint, 4, 8, 16)
__quern_vector(long, long, 8, 16, 16)
__quern_vector(unsigned long, ulong, 8, 16, 16)
__quern_vector(long long, longlong, 8, 16, 16)
__quern_vector(unsigned long long, ulonglong, 8, 16, 16)
__quern_vector(float, float, 4, 8, 16)
__quern_vector(double, double, 8, 16, 16)
#undef __quern_vector
// Four 8-byte numbers, aligned to 16 or to 32 bytes by name.
#define __quern_vector_aligned(T, N, A)                                                                                \
    struct __align__(A) N##4_##A##a { T x, y, z, w; };                                                                 \
    __quern_fn constexpr N##4_##A##a make_##N##4_##A##a(T x, T y, T z, T w) { return {x, y, z, w}; }
#define __quern_vector_pair(T, N) __quern_vector_aligned(T, N, 16) __quern_vector_aligned(T, N, 32)
__quern_vector_pair(long, long) __quern_vector_pair(unsigned long, ulong) __quern_vector_pair(long long, longlong)
__quern_vector_pair(unsigned long long, ulonglong) __quern_vector_pair(double, double)
#undef __quern_vector_pair
#undef __quern_vector_aligned

struct dim3 {
    unsigned int x, y, z;
    __host__ __device__ constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1)
        : x(vx), y(vy), z(vz) {}
    __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    __host__ __device__ constexpr operator uint3() const { return {x, y, z}; }
};

// The compiler replaces these by values it knows.
extern const __device__ uint3 threadIdx;
extern const __device__ uint3 blockIdx;
extern const __device__ dim3 blockDim;
extern const __device__ dim3 gridDim;
static const __device__ int warpSize = 32;
