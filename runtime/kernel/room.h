// Room that a call's kernels need between them.
#pragma once
#include "runtime/array/array.h"
#include "runtime/stream/stream.h"

#include <deque>
#include <memory>
#include <utility>

namespace quern {

// Arrays that live as long as a call, or as the graph that it is captured in. Their places never
// change.
class Room {
  public:
    Room(Device& device, CUstream stream) : device_(device), stream_(stream) {}
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;

    const Array& make(DType dtype, std::int64_t elements) {
        return made_.emplace_back(Array::empty(device_, dtype, Dims{elements}, stream_));
    }
    // When all kernels are launched.
    void keep() {
        if (!made_.empty())
            keep_for_graph(device_, stream_, std::move(made_));
    }

  private:
    Device& device_;
    CUstream stream_;
    std::deque<Array> made_;
};

} // namespace quern
