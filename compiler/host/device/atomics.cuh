// Atomic operations, relaxed as on the GPU; _block and _system are the same thing here: one memory, one coherence.
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
#define __quern_atomics(T)                                                                                             \
    __quern_atomic(T, atomicAdd, __atomic_fetch_add) __quern_atomic(T, atomicSub, __atomic_fetch_sub)                  \
    __quern_atomic(T, atomicExch, __atomic_exchange_n) __quern_atomic(T, atomicMin, __atomic_fetch_min)                \
    __quern_atomic(T, atomicMax, __atomic_fetch_max) __quern_atomic(T, atomicAnd, __atomic_fetch_and)                  \
    __quern_atomic(T, atomicOr, __atomic_fetch_or) __quern_atomic(T, atomicXor, __atomic_fetch_xor)                    \
    __quern_atomic_cas(T)
__quern_atomics(int) __quern_atomics(unsigned int) __quern_atomics(long) __quern_atomics(unsigned long)
__quern_atomics(long long) __quern_atomics(unsigned long long)
__quern_atomic_cas(short) __quern_atomic_cas(unsigned short)
#undef __quern_atomics

// Floats go through compare-and-swap on their bits; min and max keep a number over a NaN, as fmin and fmax do.
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
#define __quern_atomic_float(T, BITS, MIN, MAX)                                                                        \
    __quern_atomic_by_cas(T, BITS, atomicAdd, old + v)                                                                 \
    __quern_atomic_by_cas(T, BITS, atomicMin, MIN(old, v))                                                             \
    __quern_atomic_by_cas(T, BITS, atomicMax, MAX(old, v))                                                             \
    __quern_fn T atomicSub(T* p, T v) { return atomicAdd(p, (T)-v); }                                                  \
    __quern_fn T atomicExch(T* p, T v) {                                                                               \
        return __builtin_bit_cast(T, __atomic_exchange_n((BITS*)p, __builtin_bit_cast(BITS, v), __ATOMIC_RELAXED));    \
    }                                                                                                                  \
    __quern_scopes(T, atomicExch, (T* p, T v), p, v)
__quern_atomic_float(float, unsigned int, __builtin_fminf, __builtin_fmaxf)
__quern_atomic_float(double, unsigned long long, __builtin_fmin, __builtin_fmax)
__quern_atomic_float(_Float16, unsigned short, __builtin_fminf, __builtin_fmaxf)
__quern_atomic_float(__bf16, unsigned short, __builtin_fminf, __builtin_fmaxf)
#undef __quern_atomic_float

__quern_atomic_by_cas(unsigned int, unsigned int, atomicInc, old >= v ? 0 : old + 1)
__quern_atomic_by_cas(unsigned int, unsigned int, atomicDec, old == 0 || old > v ? v : old - 1)
__quern_atomic_by_cas(unsigned long long, unsigned long long, atomicInc, old >= v ? 0 : old + 1)
__quern_atomic_by_cas(unsigned long long, unsigned long long, atomicDec, old == 0 || old > v ? v : old - 1)
#undef __quern_atomic_by_cas
#undef __quern_atomic_cas
#undef __quern_atomic
#undef __quern_scopes
