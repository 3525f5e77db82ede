// The launches of a fused call, noted, to be launched again on other arrays that lie alike. Whoever
// replays knows that the function would do nothing else.
#pragma once
#include "runtime/fusion/fused_kernel.h"
#include "runtime/memory/memory.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace quern {

// How arrays lie, and beside each other, added to `key`: alike, and launches that one call made of
// its arrays are those of the other. False where memory that different buffers hold is the same.
[[nodiscard]] bool add_layouts(std::span<const Array* const> given, std::string& key);

class Replay {
  public:
    // Where an array lies: in the memory of a given one, or in memory that the call makes.
    struct Place {
        int memory = 0;          // given arrays first
        std::int64_t offset = 0; // bytes from the first given array there; or from the beginning
        DType dtype = DType::float32;
        Dims shape, strides;
        bool writable = true;
    };

    // The launches on the current stream. `given` lie as those of the trace. An array for each
    // result of the trace goes to `results`.
    void run(std::span<const Array* const> given, std::vector<Array>& results,
             void (*on_wait)(bool entering)) const;

  private:
    friend class Trace;
    struct Operand {
        std::optional<Place> place; // of an array
        Scalar scalar;
    };
    struct Launch {
        FusedKernel* kernel;
        FusedCall call;
        std::vector<Operand> operands;
        std::vector<int> last_used; // memory that nothing needs behind it
    };
    Device* device_ = nullptr;
    int given_ = 0;
    std::vector<std::size_t> made_; // bytes
    std::vector<Launch> launches_;
    std::vector<Place> results_;
};

class Trace {
  public:
    // Before the call; the arrays live as long as the trace.
    explicit Trace(std::span<const Array* const> given);

    void note(FusedKernel& kernel, std::span<const Argument> args, const FusedCall& call,
              CUstream stream);
    // Something happened that no replay repeats.
    void refuse() noexcept { refused_ = true; }
    // After the call, with the arrays that it returned.
    [[nodiscard]] std::optional<Replay> finish(std::span<const Array* const> results);

  private:
    [[nodiscard]] int memory_of(const Array& array);
    [[nodiscard]] Replay::Place place_of(const Array& array);
    void find_last_uses();

    std::span<const Array* const> given_;
    std::vector<const Buffer*> made_; // may be gone, and another one at its place
    std::vector<bool> written_;
    Replay replay_;
    bool refused_ = false;
};

} // namespace quern
