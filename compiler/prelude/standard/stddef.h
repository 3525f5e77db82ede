// <stddef.h>: size_t needs no header.
#pragma once
#ifndef offsetof
#ifdef __QUERN_HOST__
#define offsetof(T, member) __builtin_offsetof(T, member)
#else
#define offsetof(T, member)                                                                        \
    __INTADDR__(&(((T*)0)->member)) // __builtin_offsetof came with NVRTC 13.1
#endif
#endif
