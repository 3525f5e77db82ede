// Warp matrix operations, by name only: a kernel that reaches one is refused. There are no tensor
// cores here.
#pragma once
#include "cuda_bf16.h"
#define __quern_tensor __attribute__((device, error("tensor cores exist on NVIDIA GPUs only")))
namespace nvcuda {
namespace wmma {
struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
namespace experimental {
struct u4;
struct s4;
struct b1;
} // namespace experimental
} // namespace precision
namespace experimental {
namespace precision {
using namespace wmma::precision::experimental;
}
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
} // namespace experimental
template <class T> struct element { typedef T type; };
template <> struct element<precision::tf32> { typedef float type; };
template <> struct element<precision::experimental::u4> { typedef unsigned type; };
template <> struct element<precision::experimental::s4> { typedef int type; };
template <> struct element<precision::experimental::b1> { typedef unsigned type; };
template <class Use, int m, int n, int k, class T, class Layout = void> struct fragment {
    static const int num_elements = 8, num_storage_elements = 8;
    typename element<T>::type x[8];
};
template <class... A> __quern_tensor void fill_fragment(A&&...);
template <class... A> __quern_tensor void load_matrix_sync(A&&...);
template <class... A> __quern_tensor void store_matrix_sync(A&&...);
template <class... A> __quern_tensor void mma_sync(A&&...);
template <class... A> __quern_tensor void bmma_sync(A&&...);
__quern_fn float __float_to_tf32(float x) {
    const unsigned bits = __float_as_uint(x);
    return x != x ? x
                  : __uint_as_float((bits + 0x1000u) & ~0x1fffu); // to nearest, ties away from zero
}
} // namespace wmma
} // namespace nvcuda
#undef __quern_tensor
