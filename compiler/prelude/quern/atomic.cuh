// Atomics for the element types that CUDA leaves out: int64, float16, bfloat16, and min and max of floats.
#pragma once

#define QUERN_ATOMIC_INT64(name)                                                                                       \
    __device__ inline long long name(long long* place, long long value) {                                              \
        return static_cast<long long>(                                                                                 \
            name(reinterpret_cast<unsigned long long*>(place), static_cast<unsigned long long>(value)));               \
    }
QUERN_ATOMIC_INT64(atomicAdd)
QUERN_ATOMIC_INT64(atomicExch)
#undef QUERN_ATOMIC_INT64
__device__ inline long long atomicSub(long long* place, long long value) { return atomicAdd(place, -value); }
__device__ inline unsigned long long atomicSub(unsigned long long* place, unsigned long long value) {
    return atomicAdd(place, 0ull - value);
}
__device__ inline long long atomicCAS(long long* place, long long expected, long long value) {
    return static_cast<long long>(atomicCAS(reinterpret_cast<unsigned long long*>(place),
                                            static_cast<unsigned long long>(expected),
                                            static_cast<unsigned long long>(value)));
}

// The number wins over NaN, as in fmin and fmax.
#define QUERN_ATOMIC_FLOAT(name, better, Float, Bits, to_bits, from_bits)                                              \
    __device__ inline Float name(Float* place, Float value) {                                                          \
        Bits seen = *reinterpret_cast<volatile Bits*>(place), assumed;                                                 \
        do {                                                                                                           \
            assumed = seen;                                                                                            \
            const Float best = better(value, from_bits(assumed));                                                      \
            if (to_bits(best) == assumed) break;                                                                       \
            seen = atomicCAS(reinterpret_cast<Bits*>(place), assumed, to_bits(best));                                  \
        } while (assumed != seen);                                                                                     \
        return from_bits(seen);                                                                                        \
    }
QUERN_ATOMIC_FLOAT(atomicMin, fminf, float, unsigned int, __float_as_uint, __uint_as_float)
QUERN_ATOMIC_FLOAT(atomicMax, fmaxf, float, unsigned int, __float_as_uint, __uint_as_float)
QUERN_ATOMIC_FLOAT(atomicMin, fmin, double, unsigned long long, __double_as_longlong, __longlong_as_double)
QUERN_ATOMIC_FLOAT(atomicMax, fmax, double, unsigned long long, __double_as_longlong, __longlong_as_double)
#undef QUERN_ATOMIC_FLOAT

// Two-byte floats: compare and swap of the word around them.
#define QUERN_ATOMIC_TWO_BYTES(Type)                                                                                   \
    __device__ inline Type atomicAdd(Type* place, Type value) {                                                        \
        const size_t address = reinterpret_cast<size_t>(place);                                                        \
        unsigned int* word = reinterpret_cast<unsigned int*>(address & ~static_cast<size_t>(3));                       \
        const unsigned int shift = (address & 2) ? 16u : 0u, keep = ~(0xffffu << shift);                               \
        unsigned int seen = *reinterpret_cast<volatile unsigned int*>(word), assumed;                                  \
        Type old;                                                                                                      \
        do {                                                                                                           \
            assumed = seen;                                                                                            \
            old = Type::from_bits(static_cast<unsigned short>(assumed >> shift));                                      \
            const Type sum(float(old) + float(value));                                                                 \
            seen = atomicCAS(word, assumed, (assumed & keep) | (static_cast<unsigned int>(sum.bits) << shift));        \
        } while (assumed != seen);                                                                                     \
        return old;                                                                                                    \
    }
#ifdef QUERN_HAS_HALF
QUERN_ATOMIC_TWO_BYTES(float16)
#endif
#ifdef QUERN_HAS_BFLOAT16
QUERN_ATOMIC_TWO_BYTES(bfloat16)
#endif
#undef QUERN_ATOMIC_TWO_BYTES
#ifdef QUERN_HAS_COMPLEX
template <class T> __device__ inline complex<T> atomicAdd(complex<T>* place, complex<T> value) {
    T* parts = reinterpret_cast<T*>(place);
    return complex<T>(atomicAdd(parts, value.real()), atomicAdd(parts + 1, value.imag()));
}
#endif
