// cuda::thread_scope: the toolkit's own where it is there, or another header of it would bring a
// second one.
#pragma once
#if __has_include(<cuda/std/__atomic/scopes.h>)
#include <cuda/std/__atomic/scopes.h>
#else
namespace cuda {
enum thread_scope {
    thread_scope_system = 0,
    thread_scope_device = 1,
    thread_scope_block = 2,
    thread_scope_thread = 10
};
}
#endif
