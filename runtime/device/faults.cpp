// The word of each device lies in page-locked memory of the host, which kernels write only when
// something is wrong: looking at it costs a load.
#include "runtime/device/faults.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "runtime/driver/check.h"

#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <utility>

namespace quern {
namespace {

constexpr std::size_t word_count = 4; // call, mask of arrays, index, unused
constexpr std::int64_t kept_sites = 1024;

struct KeptSite {
    std::int64_t call = 0;
    FaultSite site;
    OriginHooks::Origin origin;
};

struct DeviceFaults {
    std::uint64_t* words = nullptr;
    std::mutex mutex; // guards the rest
    std::int64_t next_call = 0;
    std::array<KeptSite, kept_sites> sites;
};

std::atomic<IndexCheck> check_setting{IndexCheck::later};
OriginHooks origin_hooks;
std::array<std::atomic<DeviceFaults*>, max_devices> table{}; // never freed: kernels may still write

std::atomic<DeviceFaults*>& entry_of(const Device& device) {
    return table[static_cast<std::size_t>(device.index())];
}

DeviceFaults& faults_of(Device& device) {
    std::atomic<DeviceFaults*>& entry = entry_of(device);
    if (DeviceFaults* found = entry.load(std::memory_order_acquire))
        return *found;
    static std::mutex making;
    const std::lock_guard lock(making);
    if (DeviceFaults* found = entry.load(std::memory_order_acquire))
        return *found;
    device.make_current();
    void* memory = nullptr;
    constexpr unsigned flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
    check(device.api(),
          device.api().cuMemHostAlloc(&memory, word_count * sizeof(std::uint64_t), flags),
          "make the word of faults of ", device.name());
    auto* made = new DeviceFaults;
    made->words = static_cast<std::uint64_t*>(memory);
    for (std::size_t k = 0; k < word_count; ++k)
        made->words[k] = 0;
    entry.store(made, std::memory_order_release);
    return *made;
}

std::atomic_ref<std::uint64_t> word_of(DeviceFaults& faults, std::size_t k) {
    return std::atomic_ref<std::uint64_t>(faults.words[k]);
}

} // namespace

IndexCheck index_check() noexcept { return check_setting.load(std::memory_order_relaxed); }
void set_index_check(IndexCheck check) noexcept {
    check_setting.store(check, std::memory_order_relaxed);
}
void set_origin_hooks(const OriginHooks& hooks) noexcept { origin_hooks = hooks; }

FaultTicket note_site(Device& device, const FaultSite& site) {
    if (index_check() == IndexCheck::off)
        return {};
    DeviceFaults& faults = faults_of(device);
    const std::lock_guard lock(faults.mutex);
    const std::int64_t call = ++faults.next_call;
    KeptSite& kept = faults.sites[static_cast<std::size_t>(call % kept_sites)];
    if (kept.origin.code != nullptr)
        origin_hooks.forget(kept.origin);
    kept.call = call;
    kept.site.axes.assign(site.axes.begin(), site.axes.end());
    kept.site.name = site.name;
    kept.site.complaint = site.complaint;
    kept.origin = origin_hooks.note != nullptr ? origin_hooks.note() : OriginHooks::Origin{};
    return {static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(faults.words)), call};
}

namespace {

struct Fault {
    std::uint64_t wrong = 0; // a bit for each index array
    std::int64_t call = 0, index = 0;
};

// What the word holds; clears it.
Fault take_fault(const Device& device) noexcept {
    DeviceFaults* faults = entry_of(device).load(std::memory_order_acquire);
    if (faults == nullptr)
        return {};
    const std::uint64_t call = word_of(*faults, 0).load(std::memory_order_acquire);
    if (call == 0)
        return {};
    const Fault fault{word_of(*faults, 1).load(), static_cast<std::int64_t>(call),
                      static_cast<std::int64_t>(word_of(*faults, 2).load())};
    word_of(*faults, 0).store(0, std::memory_order_release);
    return fault;
}

[[noreturn]] void raise(const Device& device, const Fault& fault) {
    DeviceFaults& faults = *entry_of(device).load(std::memory_order_acquire);
    std::string text = "an index is out of bounds";
    std::string where;
    ErrorKind kind = ErrorKind::index;
    OriginHooks::Origin origin;
    {
        const std::lock_guard lock(faults.mutex);
        KeptSite& kept = faults.sites[static_cast<std::size_t>(fault.call % kept_sites)];
        if (kept.call == fault.call) {
            const auto which = static_cast<std::size_t>(std::countr_zero(fault.wrong));
            if (which < kept.site.axes.size()) {
                const FaultSite::Axis& axis = kept.site.axes[which];
                const std::string index =
                    device.is_cpu() ? "an index" : join("index ", fault.index);
                text = join(index, " is out of bounds for axis ", axis.axis, " with size ",
                            axis.extent);
            }
            if (kept.site.complaint != nullptr) {
                kind = ErrorKind::value;
                text = kept.site.complaint;
            }
            where = join("\n    found while ", kept.site.name, " ran on ", device.name());
            origin = std::exchange(kept.origin, {});
        }
    }
    if (origin.code != nullptr)
        where += join(", called at ", origin_hooks.tell(origin));
    throw Error(kind, text + where);
}

} // namespace

void throw_fault(const Device& device) {
    const Fault fault = take_fault(device);
    if (fault.call != 0) [[unlikely]]
        raise(device, fault);
}

bool take_fault_of(const Device& device, std::int64_t call) {
    const Fault fault = take_fault(device);
    if (fault.call != 0 && fault.call != call)
        raise(device, fault);
    return fault.call != 0;
}

} // namespace quern
