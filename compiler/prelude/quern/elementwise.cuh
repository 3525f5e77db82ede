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

// `once`: moved so, a chunk is the first to leave the caches. What is walked over once need not push out what is not.
template <bool once, class C> struct Mover {
    __device__ static C read(const C* from) { return *from; }
    __device__ static void write(C* to, const C& chunk) { *to = chunk; }
};
template <class C> struct Mover<true, C> {
    __device__ static C read(const C* from) { return __ldcs(from); }
    __device__ static void write(C* to, const C& chunk) { __stcs(to, chunk); }
};
template <class T> __device__ inline void store_once(T* to, const T& value) {
    typedef typename Chunk<sizeof(T)>::type chunk;
    Mover<true, chunk>::write(reinterpret_cast<chunk*>(to), reinterpret_cast<const chunk&>(value));
}

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
    template <bool once = false, class Index> __device__ void load(const T* from, Index begin, Index end) {
        if (begin == 0 && end >= lanes) {
#pragma unroll
            for (int k = 0; k < bytes / width; ++k) chunks[k] = Mover<once, chunk>::read(reinterpret_cast<const chunk*>(from) + k);
        } else {
#pragma unroll
            for (int k = 0; k < lanes; ++k) values[k] = k >= begin && k < end ? from[k] : T();
        }
    }
    // Likewise from a whole address: what lies beside [begin, end) is read too.
    template <class Index> __device__ void load_whole(const T* from, Index begin, Index end) {
        if (end > 0) {
#pragma unroll
            for (int k = 0; k < bytes / width; ++k) chunks[k] = reinterpret_cast<const chunk*>(from)[k];
        }
#pragma unroll
        for (int k = 0; k < lanes; ++k) values[k] = k >= begin && k < end ? values[k] : T();
    }
    template <bool once = false, class Index> __device__ void store(T* to, Index begin, Index end) const {
        if (begin == 0 && end >= lanes) {
#pragma unroll
            for (int k = 0; k < bytes / width; ++k) Mover<once, chunk>::write(reinterpret_cast<chunk*>(to) + k, chunks[k]);
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
// Rows go by whole lines of the caches where they go to; what was moved already may be moved again.
typedef unsigned char Line __attribute__((ext_vector_type(64)));
__device__ inline void move_line(char* to, const char* from) {
    Line line;
    memcpy(&line, from, sizeof line);
    memcpy(to, &line, sizeof line);
}
template <class T> __device__ inline void move_row(T* to, const T* from, quern_int64 begin, quern_int64 end) {
    constexpr quern_int64 width = sizeof(Line);
    const quern_int64 bytes = (end - begin) * static_cast<quern_int64>(sizeof(T)), last = bytes - width;
    char* const target = reinterpret_cast<char*>(to + begin);
    const char* const source = reinterpret_cast<const char*>(from + begin);
    if (bytes < 16 * width) // of a tile: what the next one writes
        for (quern_int64 k = bytes; k < 2 * bytes; k += width) __builtin_prefetch(target + k, 1);
    if (last >= 0) {
        move_line(target, source);
        for (quern_int64 k = -reinterpret_cast<quern_int64>(target) & (width - 1); k < last; k += width) move_line(target + k, source + k);
        move_line(target + last, source + last);
        return;
    }
    QUERN_INDEPENDENT
    for (quern_int64 k = begin; k < end; ++k) to[k] = from[k];
}

// What comes next in a row of tiles, whose runs are too short to be read ahead by themselves.
template <int count, int written, class T> __device__ inline void ask_for_run(const T* from) {
    constexpr int line = 64 / static_cast<int>(sizeof(T));
#pragma unroll
    for (int k = 0; k < count; k += line) __builtin_prefetch(from + k, written);
}

// Elements that stand `stride` bytes apart, side by side. Those at one end of wider words are read as these.
template <int bytes> struct WordOf { typedef unsigned char Word; };
template <> struct WordOf<2> { typedef unsigned short Word; };
template <> struct WordOf<4> { typedef unsigned int Word; };
template <> struct WordOf<8> { typedef unsigned long long Word; };
template <int many, class T> __device__ inline void gather_ends(T* to, const T* from, quern_int64 count) {
    typedef typename WordOf<sizeof(T)>::Word Word;
    typedef typename WordOf<many * sizeof(T)>::Word Wide;
    QUERN_INDEPENDENT
    for (quern_int64 k = 0; k < count - 1; ++k) { // nothing may stand behind the last
        Wide wide;
        memcpy(&wide, from + many * k, sizeof wide);
        const Word word = static_cast<Word>(wide);
        memcpy(to + k, &word, sizeof word);
    }
    if (count > 0) memcpy(to + count - 1, from + many * (count - 1), sizeof(T));
}
template <class T> __device__ inline void gather_row(T* to, const T* from, quern_int64 stride, quern_int64 count) {
    const quern_int64 size = sizeof(T);
    if constexpr (size <= 4 && (size & (size - 1)) == 0)
        if (stride == 2 * size) return gather_ends<2>(to, from, count);
    if constexpr (size <= 2)
        if (stride == 4 * size) return gather_ends<4>(to, from, count);
    if (stride == -size) {
        QUERN_INDEPENDENT
        for (quern_int64 k = 0; k < count; ++k) to[k] = from[-k];
        return;
    }
    for (quern_int64 k = 0; k < count; ++k) to[k] = *at_byte(from, k * stride);
}

template <class Int, Int... k> struct Lineup {};

// Squares of elements as vectors, a row each; of wide elements one is a square.
template <int bytes> struct SquareOf {};
template <> struct SquareOf<1> { static const int side = 16; typedef unsigned char Row __attribute__((ext_vector_type(16))); };
template <> struct SquareOf<2> { static const int side = 8; typedef unsigned short Row __attribute__((ext_vector_type(8))); };
template <> struct SquareOf<4> { static const int side = 4; typedef unsigned int Row __attribute__((ext_vector_type(4))); };
template <> struct SquareOf<8> { static const int side = 1; typedef quern_int64 Row __attribute__((ext_vector_type(1))); };
template <> struct SquareOf<16> { static const int side = 1; typedef __int128 Row __attribute__((ext_vector_type(1))); };

// Rows a and b, element by element in turns, from their half `half`. Rows zipped with those half a square below, as often
// as it has halves, are its columns.
template <int half, class Row, int... k> __device__ inline Row zipped(const Row& a, const Row& b, const Lineup<int, k...>&) {
    const int side = static_cast<int>(sizeof...(k));
    return __builtin_shufflevector(a, b, ((k + half * side) / 2 + (k & 1) * side)...);
}
template <int side, class Row> __device__ inline void turn_square(Row (&rows)[side]) {
    typedef __make_integer_seq<Lineup, int, side> Columns;
#pragma unroll
    for (int halves = side; halves > 1; halves /= 2) {
        Row next[side];
#pragma unroll
        for (int k = 0; k < side / 2; ++k) {
            next[2 * k] = zipped<0>(rows[k], rows[k + side / 2], Columns());
            next[2 * k + 1] = zipped<1>(rows[k], rows[k + side / 2], Columns());
        }
#pragma unroll
        for (int k = 0; k < side; ++k) rows[k] = next[k];
    }
}

// tile[q][p] = from[p][q]: rows of `from` are `stride` bytes apart. Runs so short are not read ahead by themselves: those of
// the next tile are asked for.
template <int extent, class T>
__device__ inline void turn_tile(T (&tile)[extent][extent], const T* from, quern_int64 stride, quern_int64 qs, quern_int64 ps) {
    typedef SquareOf<sizeof(T)> Square;
    const int side = Square::side;
    quern_int64 p = 0;
    for (; p + side <= ps; p += side) {
        const T* const row = at_byte(from, p * stride);
#pragma unroll
        for (int k = 0; k < side; ++k)
#pragma unroll
            for (int line = 0; line < extent; line += 64 / static_cast<int>(sizeof(T)))
                __builtin_prefetch(at_byte(row, (k + extent) * stride) + line, 0, 2);
        quern_int64 q = 0;
#pragma clang loop vectorize(disable) unroll(disable)
        for (; q + side <= qs; q += side) {
            typename Square::Row rows[side];
#pragma unroll
            for (int k = 0; k < side; ++k) memcpy(&rows[k], at_byte(row, k * stride) + q, sizeof(rows[k]));
            turn_square(rows);
#pragma unroll
            for (int k = 0; k < side; ++k) memcpy(&tile[q + k][p], &rows[k], sizeof(rows[k]));
        }
#pragma clang loop vectorize(disable) unroll(disable)
        for (; q < qs; ++q) {
#pragma unroll
            for (int k = 0; k < side; ++k) tile[q][p + k] = at_byte(row, k * stride)[q];
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
