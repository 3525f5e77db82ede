// Loads and stores with cache hints (the hints mean nothing here), fences, clocks, printf, assert, memory functions.
#pragma once
#define __quern_load(N) template <class T> __quern_fn T N(const T* p) { return *p; }
__quern_load(__ldg) __quern_load(__ldcg) __quern_load(__ldca) __quern_load(__ldcs) __quern_load(__ldlu)
__quern_fn void __quern_fence(int order) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
template <int Alignment> struct __quern_piece { typedef unsigned long long __attribute__((may_alias)) type; };
template <> struct __quern_piece<4> { typedef unsigned int __attribute__((may_alias)) type; };
template <> struct __quern_piece<2> { typedef unsigned short __attribute__((may_alias)) type; };
template <> struct __quern_piece<1> { typedef unsigned char __attribute__((may_alias)) type; };
template <class T> __quern_fn T __ldcv(const T* p) { // memory is asked again each time
    typedef typename __quern_piece<alignof(T)>::type Piece;
    T value;
    for (unsigned i = 0; i < sizeof(T) / sizeof(Piece); ++i) ((Piece*)&value)[i] = ((const volatile Piece*)p)[i];
    return value;
}
#define __quern_store(N) template <class T> __quern_fn void N(T* p, T v) { *p = v; }
__quern_store(__stwb) __quern_store(__stcg) __quern_store(__stcs) __quern_store(__stwt)
#undef __quern_load
#undef __quern_store
__quern_fn void __threadfence() { __quern_fence(0); }
__quern_fn void __threadfence_block() { __quern_fence(0); }
__quern_fn void __threadfence_system() { __quern_fence(0); }
__quern_fn void __threadfence_cluster() { __quern_fence(0); }

// Hooks of the host driver.
extern "C" {
__device__ __host__ __attribute__((nothrow)) void __quern_assert_fail(
    const char* text, const char* file, unsigned line, const char* function, unsigned thread_x, unsigned thread_y,
    unsigned thread_z, unsigned block_x, unsigned block_y, unsigned block_z);
__device__ __host__ __attribute__((nothrow)) void __quern_trap(void);
__device__ __host__ int printf(const char*, ...) __asm__("__quern_printf") __attribute__((nothrow, format(printf, 1, 2)));
__device__ __host__ __attribute__((nothrow)) void* malloc(size_t);
__device__ __host__ __attribute__((nothrow)) void free(void*);
}
extern "C" __device__ int cudaConfigureCall(dim3, dim3, size_t = 0, void* = 0); // Clang asks for it at `kernel<<<...>>>`
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : __quern_assert_here(#condition, __FILE__, __LINE__, __PRETTY_FUNCTION__))
#endif
__quern_fn void __quern_assert_here(const char* text, const char* file, unsigned line, const char* function) {
    __quern_assert_fail(text, file, line, function, threadIdx.x, threadIdx.y, threadIdx.z, blockIdx.x, blockIdx.y, blockIdx.z);
}
__quern_fn void __assertfail(const void* text, const void* file, unsigned line, const void* function, size_t) {
    __quern_assert_here((const char*)text, (const char*)file, line, (const char*)function);
}
__quern_fn void __assert_fail(const char* text, const char* file, unsigned line, const char* function) {
    __quern_assert_here(text, file, line, function);
}
__quern_fn void __trap() { __quern_trap(); }
__quern_fn void __brkpt() {}
__quern_fn void __prof_trigger(int) {}
__quern_fn void __nanosleep(unsigned) {}
__quern_fn long long clock64() { return (long long)__builtin_readcyclecounter(); }
__quern_fn clock_t clock() { return (clock_t)__builtin_readcyclecounter(); }
__quern_fn unsigned long long __globaltimer() { return __builtin_readcyclecounter(); }
__quern_fn void* memcpy(void* to, const void* from, size_t n) { return __builtin_memcpy(to, from, n); }
__quern_fn void* memmove(void* to, const void* from, size_t n) { return __builtin_memmove(to, from, n); }
__quern_fn void* memset(void* to, int byte, size_t n) { return __builtin_memset(to, byte, n); }
__quern_fn unsigned short __nv_bswap16(unsigned short x) { return __builtin_bswap16(x); }
__quern_fn unsigned int __nv_bswap32(unsigned int x) { return __builtin_bswap32(x); }
__quern_fn unsigned long long __nv_bswap64(unsigned long long x) { return __builtin_bswap64(x); }
// Shared memory is addressed from its first byte on, as PTX does; everything else by plain pointers.
extern "C" __shared__ char __quern_shared_base[];
#define __quern_plain_address(SPACE)                                                                                   \
    __quern_fn size_t __cvta_generic_to_##SPACE(const void* p) { return (size_t)p; }                                   \
    __quern_fn void* __cvta_##SPACE##_to_generic(size_t p) { return (void*)p; }
__quern_plain_address(global) __quern_plain_address(local) __quern_plain_address(constant)
#undef __quern_plain_address
inline __device__ size_t __cvta_generic_to_shared(const void* p) { return (size_t)((const char*)p - __quern_shared_base); }
inline __device__ void* __cvta_shared_to_generic(size_t p) { return __quern_shared_base + p; }
// Which memory an address is of: spaces.cpp answers. 0 shared, 1 local, 2 constant, 3 global.
extern "C" __device__ __attribute__((const, nothrow)) bool __quern_in_space(const void*, int space);
__quern_fn bool __isShared(const void* p) { return __quern_in_space(p, 0); }
__quern_fn bool __isClusterShared(const void* p) { return __quern_in_space(p, 0); }
__quern_fn bool __isLocal(const void* p) { return __quern_in_space(p, 1); }
__quern_fn bool __isConstant(const void* p) { return __quern_in_space(p, 2); }
__quern_fn bool __isGlobal(const void* p) { return __quern_in_space(p, 3); }
inline __device__ void* operator new(size_t, void* p) noexcept { return p; }
inline __device__ void* operator new[](size_t, void* p) noexcept { return p; }
inline __device__ void operator delete(void*, void*) noexcept {}
