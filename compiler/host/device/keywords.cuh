// Keywords, predefined macros, integer names, and where a thread is.
#pragma once
#define __global__ __attribute__((device, used, annotate("__quern_kernel")))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((device))
#define __grid_constant__
#define __cluster_dims__(...)
#define __block_size__(...)
#define __maxnreg__(...)
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __inline_hint__ __inline__
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __nv_pure__ __attribute__((pure))
#define __cudart_builtin__
#define __builtin_align__(n) __align__(n)
#define __device_builtin__
#define __CUDA_ALIGN__(n) __align__(n)
#define __NV_SILENCE_DEPRECATION_BEGIN
#define __NV_SILENCE_DEPRECATION_END
#define __NV_SILENCE_HOST_DEPRECATION_BEGIN
#define __NV_SILENCE_HOST_DEPRECATION_END

#define __QUERN_HOST__ 1
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#undef __CUDA_ARCH__ // Clang's own says 1
#define __CUDA_ARCH__ 900
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0
#define CUDART_VERSION 13000
#define CUDA_VERSION 13000
#define __CUDA_ARCH_LIST__ 900
#define NULL __null
#define CCCL_DISABLE_NVFP8_SUPPORT // cuda/std would read all of cuda_fp8.h, half a second, whoever wants it or not
// NVRTC says nothing of a host, a vendor or an instruction set; headers that ask would take a road that is not a GPU's.
#undef __clang__
#undef __clang_major__
#undef __clang_minor__
#undef __clang_patchlevel__
#undef __GNUC__
#undef __GNUC_MINOR__
#undef __GNUC_PATCHLEVEL__
#undef __GNUG__
#undef __CUDA__
#undef __linux__
#undef __linux
#undef linux
#undef __gnu_linux__
#undef __unix__
#undef __unix
#undef unix
#undef __x86_64__
#undef __x86_64
#undef __amd64__
#undef __amd64
#undef __SIZEOF_INT128__
#undef __SSE__
#undef __SSE2__

// How our own functions are declared: gone unless used, always part of their caller.
#define __quern_member __inline__ __attribute__((device, host, always_inline))
#define __quern_fn static __quern_member

template <bool condition> struct __quern_if {};
template <> struct __quern_if<true> { typedef int type; };
template <bool condition> using __quern_when = typename __quern_if<condition>::type;

// Only what NVRTC knows without a header: a program may give any other name (uint, uint8_t, INT_MAX) its own meaning.
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef long long clock_t;
typedef __builtin_va_list va_list;
#define va_start(list, last) __builtin_va_start(list, last)
#define va_arg(list, type) __quern_next_argument<type>(list)
#define va_copy(to, from) __builtin_va_copy(to, from)
#define va_end(list) __builtin_va_end(list)
// Clang refuses its own va_arg in device code; where the next number or pointer lies is the ABI's: a register saved on
// entry as long as there are any, then the stack. No other type is passed this way here. (The list's own members are the
// compiler's, and not what they were when they are read back from an image.)
struct __quern_arguments {
    unsigned gp_offset, fp_offset;
    void *overflow_arg_area, *reg_save_area;
};
template <class T> __quern_fn T __quern_next_argument(va_list given) {
    __quern_arguments* const list = (__quern_arguments*)given;
    static_assert(sizeof(T) <= 8 && (__is_arithmetic(T) || __is_pointer(T) || __is_enum(T)), "va_arg: a number or a pointer");
    unsigned& used = __is_floating_point(T) ? list->fp_offset : list->gp_offset;
    const unsigned size = __is_floating_point(T) ? 16 : 8;
    char* place = (char*)list->overflow_arg_area;
    if (used < (__is_floating_point(T) ? 176u : 48u)) {
        place = (char*)list->reg_save_area + used;
        used += size;
    } else {
        list->overflow_arg_area = place + 8;
    }
    T value;
    __builtin_memcpy(&value, place, sizeof(T));
    return value;
}
