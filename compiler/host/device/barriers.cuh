// Threads that wait for each other: the primitives that may suspend a thread, and block-wide barriers.
#pragma once
// Defined by the host driver's tiers, never here. A thread gives way to others in these and nowhere else; the first
// argument of the first two is always a constant.
#define __quern_primitive __attribute__((device, host, convergent, nothrow))
extern "C" {
// Every live thread of the block: 0 barrier, 1 how many predicates hold, 2 whether all do, 3 whether one does.
__quern_primitive int __quern_sync_block(int op, int predicate);
// The lanes of `mask` that have not left the kernel, all with the same op. Each gets: 0 nothing | 1 `value` of lane
// `source`, its own where that lane takes no part | 2 lanes whose value is not 0, below lanes that take part |
// 3 lanes with the same value, below lanes that take part | of the values as 32 bits: 4 their sum, 5 the least and
// 6 the greatest unsigned, 7 the least and 8 the greatest signed, 9 and, 10 or, 11 exclusive or.
__quern_primitive unsigned long long __quern_sync_warp(int op, unsigned mask, unsigned long long value, unsigned source);
__quern_primitive unsigned __quern_active_mask(void);          // lanes of the warp that come here together
__quern_primitive void __quern_sync_grid(void);                // every thread of a cooperative launch
__quern_primitive int __quern_sync_grid_allowed(void);         // whether the launch is cooperative
__quern_primitive void __quern_sync_named(int id, int count);  // PTX: bar.sync id, count; 16 to 47 are ours
__quern_primitive void __quern_yield(void);                    // the others go on first: for loops that spin
}
#undef __quern_primitive

__quern_fn void __syncthreads() { __quern_sync_block(0, 0); }
__quern_fn int __syncthreads_count(int predicate) { return __quern_sync_block(1, predicate != 0); }
__quern_fn int __syncthreads_and(int predicate) { return __quern_sync_block(2, predicate != 0); }
__quern_fn int __syncthreads_or(int predicate) { return __quern_sync_block(3, predicate != 0); }
__quern_fn void __barrier_sync(unsigned id) {
    __quern_sync_named((int)id, (int)(blockDim.x * blockDim.y * blockDim.z));
}
__quern_fn void __barrier_sync_count(unsigned id, unsigned count) { __quern_sync_named((int)id, (int)count); }
