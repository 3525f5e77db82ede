// A thread's own asynchronous copies: done when they are asked for, so there is nothing to wait
// for.
#pragma once
#include <stdint.h>
__quern_fn void __pipeline_memcpy_async(void* to, const void* from, size_t bytes,
                                        size_t zeros = 0) {
    __builtin_memcpy(to, from, bytes - zeros);
    __builtin_memset((char*)to + (bytes - zeros), 0, zeros);
}
__quern_fn void __pipeline_commit() {}
__quern_fn void __pipeline_wait_prior(size_t) {}
