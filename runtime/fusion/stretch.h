// What a stretch of recorded calls runs: its graph cut into parts, each a kernel that is made once
// for all graphs like it.
#pragma once
#include "compiler/fusion/cut.h"
#include "runtime/array/views.h"
#include "runtime/kernel/argument.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace quern {

class Trace;

// A kernel that ran for a stretch.
struct FusedLaunch {
    struct Value {
        DType dtype = DType::float32;
        bool scalar = false, stored = false; // stored: by this kernel
        int place = no_value;                // of an array in memory, the same in all launches
        CUdeviceptr address = 0;
        std::int64_t bytes = 0; // of memory
    };
    FusionGraph graph; // after all passes
    std::vector<Value> values;
    std::string source;                 // generated CUDA C++
    std::int64_t read = 0, written = 0; // bytes
    bool continues = false;             // what the kernel before it began
};

// Why what was called there could not join what was called before.
struct FusedCut {
    int line = 0; // of the function; 0: unknown
    std::string why;
};

using FusedEvent = std::variant<FusedLaunch, FusedCut>;

[[nodiscard]] inline bool is_reduced(std::uint64_t reduced, int axis) {
    return (reduced >> axis & 1) != 0;
}

// A value of the graph in memory.
struct StretchValue {
    Array array;  // of an array's elements
    Dims strides; // along the axes of the stretch
    Scalar scalar;
    GraphValue facts;
    ByteBounds bounds; // of the array; empty for a scalar
};
// Arrays of one device, as may_share_memory says it.
[[nodiscard]] inline bool meet(const ByteBounds& a, const ByteBounds& b) noexcept {
    return a.low != a.high && b.low != b.high && a.low < b.high && b.low < a.high;
}

// Who hears of a function's launches.
struct FusionNotes {
    Trace* trace = nullptr;
    bool watched = false; // then there are events
    std::vector<FusedEvent> events;
    std::vector<Array> places; // that events name, held so that no other array is one of them
    [[nodiscard]] int place_of(const Array& array);
    void add(FusedCut cut); // one for a line: the first of them tells most
};

struct Stretch {
    Stretch(FusionNotes& told, std::string given) : notes(&told), name(std::move(given)) {}
    void run(std::vector<GraphStep> steps, void (*on_wait)(bool entering));
    void reduce(std::optional<std::uint64_t> axes); // bit d: axis d
    // Each axis becomes as many as it has parts, which are extents, outermost first.
    void split(const std::vector<std::vector<std::int64_t>>& parts);

    FusionNotes* notes;
    std::string name; // of its kernels
    std::vector<StretchValue> values;
    Dims shape;
    std::optional<std::uint64_t> reduced; // bit d: axis d is, by the stretch's reductions
    std::vector<std::int64_t> all_axes, kept_axes, reduced_axes;
    Device* device = nullptr;
    CUstream stream = nullptr;

    struct Part; // of a graph, and its kernel

  private:
    bool began_ = false; // a kernel of this run has been noted
    bool run_part(const Part& part, void (*on_wait)(bool entering));
    bool launch(const Part& part, void (*on_wait)(bool entering));
    void note(const Part& part, std::span<const Argument> args);
    [[nodiscard]] Array seen(const StretchValue& value, bool by_rows) const;
};

} // namespace quern
