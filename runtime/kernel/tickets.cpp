// Counters of streams, made once, and of captures.
#include "runtime/kernel/tickets.h"

#include "runtime/array/array.h"
#include "runtime/kernel/table.h"
#include "runtime/memory/copy.h"
#include "runtime/stream/stream.h"

#include <algorithm>
#include <bit>
#include <mutex>

namespace quern {
namespace {

constexpr std::int64_t least_count = 4096;

std::unique_ptr<Array> make_counters(Device& device, CUstream stream, std::int64_t count) {
    auto made = std::make_unique<Array>(Array::empty(device, DType::uint32, Dims{count}, stream));
    fill_bytes(device, made->address(), 0, static_cast<std::size_t>(made->nbytes()), stream);
    return made;
}

// One handle stands for a stream of each thread.
std::uint64_t thread_of(CUstream stream) {
    static std::atomic<std::uint64_t> threads{0};
    if (stream != CU_STREAM_PER_THREAD)
        return 0;
    thread_local const std::uint64_t own = ++threads;
    return own;
}

} // namespace

std::uint64_t tickets(Device& device, CUstream stream, std::int64_t count,
                      std::shared_ptr<const void>& kept) {
    static std::mutex mutex;
    static auto* const table = new ByteTable<Array>; // streams are never destroyed
    count = std::max(least_count,
                     static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count))));
    if (is_capturing(device, stream)) {
        const std::shared_ptr<Array> own = make_counters(device, stream, count);
        kept = own;
        return own->address();
    }
    ByteKey key;
    key.add_word(static_cast<std::uint64_t>(device.index()) << 32 | thread_of(stream));
    key.add_word(reinterpret_cast<std::uintptr_t>(stream));
    key.add_word(static_cast<std::uint64_t>(count));
    if (const Array* found = table->find(key))
        return found->address();
    auto made = make_counters(device, stream, count);
    const std::lock_guard lock(mutex);
    return table->insert(key, std::move(made)).address();
}

} // namespace quern
