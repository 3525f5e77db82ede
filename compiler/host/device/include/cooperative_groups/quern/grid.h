// The grid, and the cluster: without clusters in a launch, each block is one.
#pragma once
#include <cooperative_groups/quern/group.h>

namespace cooperative_groups {

class grid_group : public thread_group {
  public:
    using arrival_token = unsigned;
    __quern_member bool is_valid() const { return __quern_sync_grid_allowed() != 0; }
    __quern_member void sync() const { __quern_sync_grid(); }
    __quern_member arrival_token barrier_arrive() const {
        return 0;
    } // the barrier is kept where they wait
    __quern_member void barrier_wait(arrival_token&&) const { __quern_sync_grid(); }
    static __quern_member unsigned long long size() { return num_threads(); }
    static __quern_member unsigned long long num_threads() {
        return num_blocks() * __quern::block_threads();
    }
    static __quern_member unsigned long long thread_rank() {
        return block_rank() * __quern::block_threads() + __quern::block_thread();
    }
    static __quern_member dim3 group_dim() { return gridDim; }
    static __quern_member dim3 dim_blocks() { return gridDim; }
    static __quern_member dim3 dim_threads() {
        return {gridDim.x * blockDim.x, gridDim.y * blockDim.y, gridDim.z * blockDim.z};
    }
    static __quern_member dim3 thread_index() {
        return {blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y,
                blockIdx.z * blockDim.z + threadIdx.z};
    }
    static __quern_member unsigned long long num_blocks() {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    static __quern_member dim3 block_index() { return blockIdx; }
    static __quern_member unsigned long long block_rank() {
        return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
    static __quern_member dim3 dim_clusters() { return gridDim; }
    static __quern_member unsigned long long num_clusters() { return num_blocks(); }
    static __quern_member dim3 cluster_index() { return blockIdx; }
    static __quern_member unsigned long long cluster_rank() { return block_rank(); }

  private:
    __quern_member grid_group() : thread_group(kind::grid) {}
    friend grid_group this_grid();
};
__quern_member grid_group this_grid() { return {}; }

class cluster_group : public thread_group {
  public:
    struct arrival_token {};
    static __quern_member void sync() { __syncthreads(); }
    static __quern_member arrival_token barrier_arrive() { return {}; }
    static __quern_member void barrier_wait() { __syncthreads(); }
    static __quern_member void barrier_wait(arrival_token&&) { __syncthreads(); }
    static __quern_member unsigned query_shared_rank(const void*) { return 0; }
    template <class T> static __quern_member T* map_shared_rank(T* address, int) { return address; }
    static __quern_member dim3 block_index() { return {0, 0, 0}; }
    static __quern_member unsigned block_rank() { return 0; }
    static __quern_member dim3 thread_index() { return threadIdx; }
    static __quern_member unsigned thread_rank() { return __quern::block_thread(); }
    static __quern_member dim3 dim_blocks() { return {1, 1, 1}; }
    static __quern_member unsigned num_blocks() { return 1; }
    static __quern_member dim3 dim_threads() { return blockDim; }
    static __quern_member unsigned num_threads() { return __quern::block_threads(); }
    static __quern_member unsigned size() { return num_threads(); }

  private:
    __quern_member cluster_group() : thread_group(kind::cluster) {}
    friend cluster_group this_cluster();
};
__quern_member cluster_group this_cluster() { return {}; }

__quern_member unsigned long long thread_group::num_threads() const {
    return kind_ == kind::lanes  ? (unsigned)__popc(mask_)
           : kind_ == kind::grid ? grid_group::num_threads()
                                 : thread_block::num_threads();
}
__quern_member unsigned long long thread_group::thread_rank() const {
    return kind_ == kind::lanes  ? (unsigned)__popc(mask_ & __quern::lanes_below())
           : kind_ == kind::grid ? grid_group::thread_rank()
                                 : thread_block::thread_rank();
}
__quern_member void thread_group::sync() const {
    if (kind_ == kind::lanes)
        __syncwarp(mask_);
    else if (kind_ == kind::grid)
        __quern_sync_grid();
    else
        __syncthreads();
}

} // namespace cooperative_groups
