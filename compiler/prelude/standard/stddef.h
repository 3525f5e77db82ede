// <stddef.h>: size_t needs no header.
#pragma once
#ifndef offsetof
#define offsetof(T, member) __builtin_offsetof(T, member)
#endif
