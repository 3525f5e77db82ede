// <stddef.h>: size_t needs no header.
#pragma once
#ifndef offsetof
#ifdef __QUERN_HOST__
#define offsetof(T, member) __builtin_offsetof(T, member)
#else
#define offsetof(T, member) ((size_t) & reinterpret_cast<const volatile char&>(((T*)0)->member))
#endif
#endif
