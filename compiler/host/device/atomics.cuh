// Atomic operations for the types CUDA has them for, relaxed as on the GPU; _block and _system are the same thing here:
// one memory, one coherence. What CUDA leaves out (min of floats, ...) is left to programs, which bring their own.
#pragma once
#define __quern_scopes(T, N, PARAMS, ...)                                                                              \
    __quern_fn T N##_block PARAMS { return N(__VA_ARGS__); }                                                           \
    __quern_fn T N##_system PARAMS { return N(__VA_ARGS__); }
#define __quern_atomic(T, N, CALL)                                                                                     \
    __quern_fn T N(T* p, T v) { return CALL(p, v, __ATOMIC_RELAXED); }                                                 \
    __quern_scopes(T, N, (T* p, T v), p, v)
#define __quern_atomic_cas(T)                                                                                          \
    __quern_fn T atomicCAS(T* p, T expected, T v) {                                                                    \
        __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                       \
        return expected;                                                                                               \
    }                                                                                                                  \
    __quern_scopes(T, atomicCAS, (T* p, T expected, T v), p, expected, v)
#define __quern_atomic_bits(T)                                                                                         \
    __quern_atomic(T, atomicMin, __atomic_fetch_min) __quern_atomic(T, atomicMax, __atomic_fetch_max)                  \
    __quern_atomic(T, atomicAnd, __atomic_fetch_and) __quern_atomic(T, atomicOr, __atomic_fetch_or)                    \
    __quern_atomic(T, atomicXor, __atomic_fetch_xor)
#define __quern_atomic_word(T)                                                                                         \
    __quern_atomic(T, atomicAdd, __atomic_fetch_add) __quern_atomic(T, atomicExch, __atomic_exchange_n)                \
    __quern_atomic_cas(T) __quern_atomic_bits(T)
__quern_atomic_word(int) __quern_atomic_word(unsigned int) __quern_atomic_word(unsigned long long)
__quern_atomic_bits(long long) __quern_atomic_cas(unsigned short)
__quern_atomic(int, atomicSub, __atomic_fetch_sub) __quern_atomic(unsigned int, atomicSub, __atomic_fetch_sub)
#undef __quern_atomic_word
#undef __quern_atomic_bits
#undef __quern_atomic_cas
#undef __quern_atomic

// The rest goes through compare-and-swap on the bits.
#define __quern_atomic_by_cas(T, BITS, N, NEXT)                                                                        \
    __quern_fn T N(T* p, T v) {                                                                                        \
        BITS seen = __atomic_load_n((BITS*)p, __ATOMIC_RELAXED);                                                       \
        for (;;) {                                                                                                     \
            T old = __builtin_bit_cast(T, seen);                                                                       \
            BITS next = __builtin_bit_cast(BITS, (T)(NEXT));                                                           \
            if (__atomic_compare_exchange_n((BITS*)p, &seen, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))          \
                return old;                                                                                            \
        }                                                                                                              \
    }                                                                                                                  \
    __quern_scopes(T, N, (T* p, T v), p, v)
__quern_atomic_by_cas(float, unsigned int, atomicAdd, old + v)
__quern_atomic_by_cas(double, unsigned long long, atomicAdd, old + v)
__quern_atomic_by_cas(unsigned int, unsigned int, atomicInc, old >= v ? 0 : old + 1)
__quern_atomic_by_cas(unsigned int, unsigned int, atomicDec, old == 0 || old > v ? v : old - 1)
#undef __quern_atomic_by_cas
__quern_fn float atomicExch(float* p, float v) {
    return __builtin_bit_cast(float, __atomic_exchange_n((unsigned*)p, __builtin_bit_cast(unsigned, v), __ATOMIC_RELAXED));
}
__quern_scopes(float, atomicExch, (float* p, float v), p, v)

// Vectors of floats: each element by itself is atomic, as on the GPU.
__quern_fn float2 atomicAdd(float2* p, float2 v) { return {atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y)}; }
__quern_fn float4 atomicAdd(float4* p, float4 v) {
    return {atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y), atomicAdd(&p->z, v.z), atomicAdd(&p->w, v.w)};
}
__quern_scopes(float2, atomicAdd, (float2* p, float2 v), p, v)
__quern_scopes(float4, atomicAdd, (float4* p, float4 v), p, v)

// Any type of 16 bytes that is aligned to them.
template <class T, bool = sizeof(T) == 16 && alignof(T) >= 16 && __is_class(T)> struct __quern_wide {};
template <class T> struct __quern_wide<T, true> { typedef T type; };
template <class T> __quern_fn typename __quern_wide<T>::type atomicCAS(T* p, T expected, T v) {
    unsigned __int128 seen = __builtin_bit_cast(unsigned __int128, expected);
    __atomic_compare_exchange_n((unsigned __int128*)p, &seen, __builtin_bit_cast(unsigned __int128, v), false,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return __builtin_bit_cast(T, seen);
}
template <class T> __quern_fn typename __quern_wide<T>::type atomicExch(T* p, T v) {
    return __builtin_bit_cast(T, __atomic_exchange_n((unsigned __int128*)p, __builtin_bit_cast(unsigned __int128, v),
                                                     __ATOMIC_RELAXED));
}
#define __quern_wide_scope(S)                                                                                          \
    template <class T> __quern_fn typename __quern_wide<T>::type atomicCAS_##S(T* p, T expected, T v) {                \
        return atomicCAS(p, expected, v);                                                                              \
    }                                                                                                                  \
    template <class T> __quern_fn typename __quern_wide<T>::type atomicExch_##S(T* p, T v) { return atomicExch(p, v); }
__quern_wide_scope(block) __quern_wide_scope(system)
#undef __quern_wide_scope
#undef __quern_scopes

// The compiler's own family, with a memory order and a scope.
#define __NV_ATOMIC_RELAXED __ATOMIC_RELAXED
#define __NV_ATOMIC_CONSUME __ATOMIC_CONSUME
#define __NV_ATOMIC_ACQUIRE __ATOMIC_ACQUIRE
#define __NV_ATOMIC_RELEASE __ATOMIC_RELEASE
#define __NV_ATOMIC_ACQ_REL __ATOMIC_ACQ_REL
#define __NV_ATOMIC_SEQ_CST __ATOMIC_SEQ_CST
#define __NV_THREAD_SCOPE_THREAD 0
#define __NV_THREAD_SCOPE_BLOCK 1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE 3
#define __NV_THREAD_SCOPE_SYSTEM 4
template <class T> struct __quern_same { typedef T type; };
#define __quern_as(T) typename __quern_same<T>::type
template <class T> __quern_fn T __nv_atomic_load_n(const T* p, int order, int = 4) { return __atomic_load_n(p, order); }
template <class T> __quern_fn void __nv_atomic_load(const T* p, T* to, int order, int = 4) { __atomic_load(p, to, order); }
template <class T> __quern_fn void __nv_atomic_store_n(T* p, __quern_as(T) v, int order, int = 4) { __atomic_store_n(p, v, order); }
template <class T> __quern_fn void __nv_atomic_store(T* p, T* from, int order, int = 4) { __atomic_store(p, from, order); }
template <class T> __quern_fn T __nv_atomic_exchange_n(T* p, __quern_as(T) v, int order, int = 4) { return __atomic_exchange_n(p, v, order); }
template <class T> __quern_fn void __nv_atomic_exchange(T* p, T* v, T* old, int order, int = 4) { __atomic_exchange(p, v, old, order); }
template <class T>
__quern_fn bool __nv_atomic_compare_exchange_n(T* p, T* expected, __quern_as(T) v, bool weak, int won, int lost, int = 4) {
    return __atomic_compare_exchange_n(p, expected, v, weak, won, lost);
}
template <class T>
__quern_fn bool __nv_atomic_compare_exchange(T* p, T* expected, T* v, bool weak, int won, int lost, int = 4) {
    return __atomic_compare_exchange(p, expected, v, weak, won, lost);
}
#define __quern_fetch(N)                                                                                               \
    template <class T> __quern_fn T __nv_atomic_fetch_##N(T* p, __quern_as(T) v, int order, int = 4) {                 \
        return __atomic_fetch_##N(p, v, order);                                                                        \
    }                                                                                                                  \
    template <class T> __quern_fn void __nv_atomic_##N(T* p, __quern_as(T) v, int order, int = 4) {                    \
        __atomic_fetch_##N(p, v, order);                                                                               \
    }
__quern_fetch(add) __quern_fetch(sub) __quern_fetch(min) __quern_fetch(max) __quern_fetch(and) __quern_fetch(or)
__quern_fetch(xor)
#undef __quern_fetch
#undef __quern_as
__quern_fn void __nv_atomic_thread_fence(int order, int = 4) { __atomic_thread_fence(order); }
