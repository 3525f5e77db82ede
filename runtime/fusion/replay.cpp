// Memory goes by its buffers: where a buffer of the call was released and another one came to the
// same place, nobody needs what was in the first, so one memory stands for both.
#include "runtime/fusion/replay.h"

#include "runtime/fusion/scratch.h"
#include "runtime/kernel/plan_options.h"

#include <algorithm>
#include <stdexcept>

namespace quern {
namespace {

// The first of `given` in the same buffer.
std::size_t first_beside(std::span<const Array* const> given, std::size_t k) {
    std::size_t first = 0;
    while (given[first]->buffer().get() != given[k]->buffer().get())
        ++first;
    return first;
}

bool overlap(const Buffer& a, const Buffer& b) {
    return a.address() < b.address() + b.bytes() && b.address() < a.address() + a.bytes();
}

} // namespace

bool add_layouts(std::span<const Array* const> given, std::string& key) {
    const auto add = [&](auto number) {
        key.append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    const PlanOptions& options = plan_options();
    add(static_cast<std::uint8_t>(options.atomic_joins | options.gpu_layout << 1));
    add(static_cast<std::uint8_t>(options.narrow_bits));
    for (std::size_t k = 0; k < given.size(); ++k) {
        const Array& array = *given[k];
        const std::size_t first = first_beside(given, k);
        for (std::size_t other = 0; first == k && other < k; ++other)
            if (&array.device() != &given[other]->device() ||
                overlap(*array.buffer().get(), *given[other]->buffer().get()))
                return false;
        add(static_cast<std::uint16_t>(first));
        add(array.address() - given[first]->address());
        add(static_cast<std::uint16_t>(array.device().index()));
        add(static_cast<std::uint8_t>(array.dtype()));
        add(static_cast<std::uint8_t>(array.ndim() << 1 | array.writable()));
        for (const Dims* dims : {&array.shape(), &array.strides()})
            key.append(reinterpret_cast<const char*>(dims->data()),
                       sizeof(std::int64_t) * static_cast<std::size_t>(dims->size()));
    }
    return true;
}

namespace {

struct Room {
    std::vector<BufferPtr> made;
    std::vector<Array> arrays;
    std::vector<Argument> args;
    void clear() noexcept {
        made.clear();
        arrays.clear();
        args.clear();
    }
};

} // namespace

void Replay::run(std::span<const Array* const> given, std::vector<Array>& results,
                 void (*on_wait)(bool entering)) const {
    const CUstream stream = current_stream(*device_);
    const Scratch<Room> room;
    auto& [made, arrays, args] = *room;
    made.resize(made_.size());
    const auto array_at = [&](const Place& place) {
        if (place.memory < given_) {
            const Array& beside = *given[static_cast<std::size_t>(place.memory)];
            return Array(beside.buffer(),
                         beside.address() + static_cast<std::uint64_t>(place.offset), place.dtype,
                         place.shape, place.strides, place.writable);
        }
        const auto k = static_cast<std::size_t>(place.memory - given_);
        if (!made[k])
            made[k] = pool_of(*device_).allocate(made_[k], stream);
        return Array(made[k], made[k]->address() + static_cast<std::uint64_t>(place.offset),
                     place.dtype, place.shape, place.strides, place.writable);
    };
    for (const Launch& launch : launches_) {
        arrays.clear();
        args.clear();
        arrays.reserve(launch.operands.size()); // arguments point at them
        for (const Operand& operand : launch.operands) {
            if (operand.place) {
                arrays.push_back(array_at(*operand.place));
                args.push_back(Argument::of(arrays.back()));
            } else {
                args.push_back(Argument::of(operand.scalar));
            }
        }
        if (!(*launch.kernel)(args, launch.call, stream, on_wait))
            throw std::logic_error("a fused kernel no longer takes what it took before");
        for (const int memory : launch.last_used)
            made[static_cast<std::size_t>(memory)] = BufferPtr();
    }
    for (const Place& place : results_)
        results.push_back(array_at(place));
}

Trace::Trace(std::span<const Array* const> given) : given_(given) {
    replay_.given_ = static_cast<int>(given.size());
    if (given.empty())
        refuse();
    else
        replay_.device_ = &given.front()->device();
}

// Of a launch's operand or a result.
int Trace::memory_of(const Array& array) {
    const Buffer* buffer = array.buffer().get();
    for (std::size_t k = 0; k < given_.size(); ++k)
        if (given_[k]->buffer().get() == buffer)
            return static_cast<int>(k);
    auto place = std::ranges::find(made_, buffer);
    const auto k = static_cast<std::size_t>(place - made_.begin());
    if (place == made_.end()) {
        made_.push_back(buffer);
        written_.push_back(false);
        replay_.made_.push_back(0);
    }
    replay_.made_[k] = std::max(replay_.made_[k], buffer->bytes());
    return replay_.given_ + static_cast<int>(k);
}

Replay::Place Trace::place_of(const Array& array) {
    const int memory = memory_of(array);
    const std::uint64_t base = memory < replay_.given_
                                   ? given_[static_cast<std::size_t>(memory)]->address()
                                   : array.buffer()->address();
    return {memory,          static_cast<std::int64_t>(array.address() - base),
            array.dtype(),   array.shape(),
            array.strides(), array.writable()};
}

void Trace::note(FusedKernel& kernel, std::span<const Argument> args, const FusedCall& call,
                 CUstream stream) {
    if (refused_)
        return;
    Replay::Launch launch{&kernel, call, {}, {}};
    const KernelSpec& spec = kernel.spec();
    if (stream != current_stream(*replay_.device_))
        refuse();
    for (std::size_t k = 0; k < args.size(); ++k) {
        if (args[k].array == nullptr) {
            launch.operands.push_back({std::nullopt, args[k].scalar});
            continue;
        }
        Replay::Place place = place_of(*args[k].array);
        if (&args[k].array->device() != replay_.device_)
            refuse();
        if (place.memory >= replay_.given_) {
            const auto made = static_cast<std::size_t>(place.memory - replay_.given_);
            // Who filled it? Nobody whom a replay would ask.
            if (!spec.params[k].output && !written_[made])
                refuse();
            written_[made] = written_[made] || spec.params[k].output;
        }
        launch.operands.push_back({std::move(place), {}});
    }
    replay_.launches_.push_back(std::move(launch));
}

void Trace::find_last_uses() {
    std::vector<int> last(made_.size(), -1);
    for (std::size_t k = 0; k < replay_.launches_.size(); ++k)
        for (const Replay::Operand& operand : replay_.launches_[k].operands)
            if (operand.place && operand.place->memory >= replay_.given_)
                last[static_cast<std::size_t>(operand.place->memory - replay_.given_)] =
                    static_cast<int>(k);
    for (const Replay::Place& place : replay_.results_)
        if (place.memory >= replay_.given_)
            last[static_cast<std::size_t>(place.memory - replay_.given_)] = -1;
    for (std::size_t k = 0; k < last.size(); ++k)
        if (last[k] >= 0)
            replay_.launches_[static_cast<std::size_t>(last[k])].last_used.push_back(
                static_cast<int>(k));
}

std::optional<Replay> Trace::finish(std::span<const Array* const> results) {
    for (const Array* result : results) {
        if (refused_ || &result->device() != replay_.device_)
            return std::nullopt;
        replay_.results_.push_back(place_of(*result));
    }
    if (refused_)
        return std::nullopt;
    find_last_uses();
    return std::move(replay_);
}

} // namespace quern
