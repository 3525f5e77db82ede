// Glue of generated elementwise kernels: index types, 16-byte packs, division by precomputed numbers, raw arrays.
#pragma once
#include <stddef.h>

typedef long long quern_int64;

#ifdef __QUERN_HOST__
// Iterations of a generated loop are independent, as threads of a CUDA kernel are.
#define QUERN_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define QUERN_INDEPENDENT
#endif

namespace quern {

template <bool wide> struct IndexOf { typedef unsigned int type; typedef int stride; };
template <> struct IndexOf<true> { typedef unsigned long long type; typedef long long stride; };

// x / divisor as a multiplication; exact for every x below 2^31 (2^63).
__device__ inline unsigned int high_product(unsigned int a, unsigned int b) { return __umulhi(a, b); }
__device__ inline unsigned long long high_product(unsigned long long a, unsigned long long b) { return __umul64hi(a, b); }
template <class Index> struct Divisor {
    Index divisor, multiplier, shift;
    __device__ Index divide(Index x) const { return (high_product(x, multiplier) + x) >> shift; }
};

template <int bytes> struct Chunk;
template <> struct Chunk<1> { typedef unsigned char type; };
template <> struct Chunk<2> { typedef unsigned short type; };
template <> struct Chunk<4> { typedef unsigned int type; };
template <> struct Chunk<8> { typedef uint2 type; };
template <> struct Chunk<16> { typedef uint4 type; };

// `lanes` neighbouring elements, moved in the widest accesses that they allow: 16 bytes at a time.
template <class T, int lanes> struct Pack {
    static const int bytes = lanes * (int)sizeof(T);
    static const int width = bytes < 16 ? bytes : 16;
    typedef typename Chunk<width>::type chunk;
    union {
        chunk chunks[bytes / width];
        T values[lanes];
    };
    __device__ Pack() {}
    __device__ T& operator[](int lane) { return values[lane]; }
    template <class Index> __device__ void load(const T* from, Index begin, Index end) {
        if (begin == 0 && end >= lanes) {
#pragma unroll
            for (int k = 0; k < bytes / width; ++k) chunks[k] = reinterpret_cast<const chunk*>(from)[k];
        } else {
#pragma unroll
            for (int k = 0; k < lanes; ++k) values[k] = k >= begin && k < end ? from[k] : T();
        }
    }
    template <class Index> __device__ void store(T* to, Index begin, Index end) const {
        if (begin == 0 && end >= lanes) {
#pragma unroll
            for (int k = 0; k < bytes / width; ++k) reinterpret_cast<chunk*>(to)[k] = chunks[k];
        } else {
#pragma unroll
            for (int k = 0; k < lanes; ++k)
                if (k >= begin && k < end) to[k] = values[k];
        }
    }
};

template <class T> __device__ inline T* at_byte(T* base, quern_int64 offset) {
    return reinterpret_cast<T*>(const_cast<char*>(reinterpret_cast<const char*>(base)) + offset);
}

// Where the element (p, q) of a square tile lies in shared memory: rows, and groups of 32 rows, begin in other banks, so
// that 32 threads may take packs along either axis.
template <class T, int extent> struct TilePlaces {
    static const int gap = sizeof(T) < 4 ? 4 / (int)sizeof(T) : 1;
    static const int count = extent * (extent + gap) + extent / 32 * gap;
    __device__ static int at(int p, int q) { return p * (extent + gap) + (extent > 32 ? p / 32 * gap : 0) + q; }
};

#ifdef __QUERN_HOST__
// tile[q][p] = from[p][q]: rows of `from` are `stride` bytes apart. Four by four at a time, which the compiler turns into
// shuffles of registers.
template <int extent, class T>
__device__ inline void turn_tile(T (&tile)[extent][extent], const T* from, quern_int64 stride, quern_int64 qs, quern_int64 ps) {
    quern_int64 p = 0;
    for (; p + 4 <= ps; p += 4) {
        const T *a = at_byte(from, p * stride), *b = at_byte(a, stride), *c = at_byte(b, stride), *d = at_byte(c, stride);
        quern_int64 q = 0;
#pragma clang loop vectorize(disable) unroll(disable)
        for (; q + 4 <= qs; q += 4) {
            T square[4][4];
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                square[k][0] = a[q + k];
                square[k][1] = b[q + k];
                square[k][2] = c[q + k];
                square[k][3] = d[q + k];
            }
#pragma unroll
            for (int k = 0; k < 4; ++k) {
#pragma unroll
                for (int j = 0; j < 4; ++j) tile[q + k][p + j] = square[k][j];
            }
        }
#pragma clang loop vectorize(disable) unroll(disable)
        for (; q < qs; ++q) {
            tile[q][p] = a[q];
            tile[q][p + 1] = b[q];
            tile[q][p + 2] = c[q];
            tile[q][p + 3] = d[q];
        }
    }
    for (; p < ps; ++p)
#pragma clang loop vectorize(disable) unroll(disable)
        for (quern_int64 q = 0; q < qs; ++q) tile[q][p] = at_byte(from, p * stride)[q];
}
#endif

} // namespace quern

// `_ind`: where this element stands in the (reduced) shape.
template <int _ndim> class CIndexer {
  public:
    static const int ndim = _ndim;
    __device__ ptrdiff_t size() const { return size_; }
    __device__ const ptrdiff_t* shape() const { return shape_; }
    __device__ const ptrdiff_t* get() const { return index_; }
    __device__ void set(ptrdiff_t i) {
        for (int d = ndim; --d > 0;) {
            const ptrdiff_t rest = i / shape_[d];
            index_[d] = i - rest * shape_[d];
            i = rest;
        }
        if (ndim > 0) index_[0] = i;
    }
    ptrdiff_t size_;
    ptrdiff_t shape_[_ndim + 1];
    ptrdiff_t index_[_ndim + 1];
};
