// Headers of C and C++ that programs include, and NVRTC has none of.
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
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <math_constants.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
