// What a stretch of recorded calls runs: its graph cut into parts, each a kernel that is made once
// for all graphs like it.
#pragma once
#include "compiler/fusion/cut.h"
#include "runtime/array/array.h"
#include "runtime/kernel/argument.h"

#include <optional>
#include <string>
#include <vector>

namespace quern {

class Trace;

// A kernel that ran for a stretch.
struct FusedLaunch {
    std::string graph;                  // after all passes, in text
    std::string source;                 // generated CUDA C++
    std::vector<int> lines;             // of the function that went into it, each once
    int calls = 0;                      // that were recorded for it
    std::int64_t read = 0, written = 0; // bytes
};

// A value of the graph in memory.
struct StretchValue {
    Array array;  // of an array's elements
    Dims strides; // along the axes of the stretch
    Scalar scalar;
    GraphValue facts;
};

struct Stretch {
    explicit Stretch(std::string given) : name(std::move(given)) {}
    void run(std::vector<GraphStep> steps, void (*on_wait)(bool entering));

    std::string name;
    std::vector<StretchValue> values;
    Dims shape;
    std::optional<std::uint64_t> reduced; // bit d: axis d is, by the stretch's reductions
    std::vector<std::int64_t> all_axes, kept_axes, reduced_axes;
    Device* device = nullptr;
    CUstream stream = nullptr;
    Trace* trace = nullptr; // is told of launches
    bool watched = false;
    std::vector<FusedLaunch> launches;

    struct Part; // of a graph, and its kernel

  private:
    bool run_part(const Part& part, void (*on_wait)(bool entering));
    bool launch(const Part& part, void (*on_wait)(bool entering));
    void note(const Part& part, std::span<const Argument> args);
    [[nodiscard]] Array seen(const StretchValue& value, bool by_rows) const;
};

} // namespace quern
