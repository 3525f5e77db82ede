// Headers of C and C++ that programs include, and NVRTC has none of.
#include <algorithm>
#include <assert.h>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <float.h>
#include <initializer_list>
#include <inttypes.h>
#include <limits>
#include <limits.h>
#include <math.h>
#include <math_constants.h>
#include <new>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <type_traits>
#include <utility>
struct Pair { char first; int32_t second; };
static_assert(sizeof(int64_t) == 8 && sizeof(uint_fast8_t) == 1, "");
static_assert(INT64_MIN < 0 && UINT8_MAX == 255 && CHAR_BIT == 8 && INT_MIN + INT_MAX == -1, "");
extern "C" __global__ void numbers(double* out) {
    uint k = 0;
    const double all[] = {M_PI, M_SQRT1_2, FLT_MAX, FLT_EPSILON, DBL_MIN, CUDART_PI, CUDART_SQRT_TWO, CUDART_LN2_HI, INFINITY, HUGE_VAL,
                          CUDART_INF, UINT32_MAX, NAN, CUDART_NAN_F};
    for (double x : all) out[k++] = x;
    if (offsetof(Pair, second) != 4) out[0] = -1;
}

template <class T> __device__ typename std::enable_if<std::is_integral<T>::value, int>::type kind(T) { return 1; }
template <class T> __device__ typename std::enable_if<std::is_floating_point<T>::value, int>::type kind(T) { return 2; }
static_assert(std::is_same<std::common_type<char, float>::type, float>::value && std::is_signed<long>::value &&
              std::is_same<std::make_unsigned<int>::type, uint32_t>::value && !std::is_signed<uint8_t>::value &&
              std::is_same<std::decay<const int (&)[3]>::type, const int*>::value && !std::is_integral<float>::value &&
              std::is_base_of<std::true_type, std::is_pointer<int*>>::value && std::is_class<Pair>::value, "");
static_assert(std::numeric_limits<std::uint64_t>::max() == UINT64_MAX && std::numeric_limits<int>::digits == 31 &&
              std::numeric_limits<short>::lowest() == SHRT_MIN && !std::numeric_limits<Pair>::is_specialized, "");

extern "C" __global__ void names_of_std(double* out, float x) {
    typedef std::numeric_limits<float> F;
    typedef std::numeric_limits<double> D;
    int low = 7, high = 3;
    std::swap(low, high);
    const auto pair = std::make_pair(x, 2.5);
    const float sorted[] = {1, 2, 2, 5};
    float kept[4];
    std::copy(sorted, sorted + 4, kept);
    std::fill(kept + 3, kept + 4, x);
    const double all[] = {F::infinity(), F::lowest(), F::epsilon(), F::min(), F::denorm_min(), D::max(), D::denorm_min(),
                          D::epsilon(), std::sqrt(x), std::abs(-x), std::pow(2.0, 10), std::floor(-x), std::exp(double(x)),
                          std::max(x, 2.f), std::min(3, 4), std::clamp(9, low, high), low * 10.0 + high,
                          pair.first + pair.second, double(std::lower_bound(sorted, sorted + 4, 2.f) - sorted),
                          double(std::upper_bound(sorted, sorted + 4, 2.f) - sorted), kept[2] + kept[3],
                          kind(low) + 10.0 * kind(x), double(std::isnan(F::quiet_NaN()) + std::isnan(D::quiet_NaN()))};
    for (std::size_t k = 0; k < sizeof(all) / sizeof(all[0]); ++k) out[k] = all[k];
}
