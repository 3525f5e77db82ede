// What needs threads to wait for each other. Declared, never defined: a kernel that reaches one is refused by name.
#pragma once
#define __quern_later __attribute__((device, convergent, nothrow, error("barriers on the CPU come with RawKernel support")))
extern "C" {
__quern_later void __syncthreads();
__quern_later int __syncthreads_count(int);
__quern_later int __syncthreads_and(int);
__quern_later int __syncthreads_or(int);
__quern_later unsigned int __activemask();
}
__quern_later void __syncwarp(unsigned int mask = 0xffffffffu);
__quern_later unsigned int __ballot_sync(unsigned int mask, int predicate);
__quern_later int __any_sync(unsigned int mask, int predicate);
__quern_later int __all_sync(unsigned int mask, int predicate);
template <class T> __quern_later unsigned int __match_any_sync(unsigned int mask, T value);
template <class T> __quern_later unsigned int __match_all_sync(unsigned int mask, T value, int* predicate);
template <class T> __quern_later T __shfl_sync(unsigned int mask, T value, int lane, int width = 32);
template <class T> __quern_later T __shfl_up_sync(unsigned int mask, T value, unsigned int delta, int width = 32);
template <class T> __quern_later T __shfl_down_sync(unsigned int mask, T value, unsigned int delta, int width = 32);
template <class T> __quern_later T __shfl_xor_sync(unsigned int mask, T value, int lanes, int width = 32);
#define __quern_later_reduce(N, T) __quern_later T N(unsigned int mask, T value);
__quern_later_reduce(__reduce_add_sync, unsigned int) __quern_later_reduce(__reduce_add_sync, int)
__quern_later_reduce(__reduce_min_sync, unsigned int) __quern_later_reduce(__reduce_min_sync, int)
__quern_later_reduce(__reduce_max_sync, unsigned int) __quern_later_reduce(__reduce_max_sync, int)
__quern_later_reduce(__reduce_and_sync, unsigned int) __quern_later_reduce(__reduce_or_sync, unsigned int)
__quern_later_reduce(__reduce_xor_sync, unsigned int)
#undef __quern_later_reduce
