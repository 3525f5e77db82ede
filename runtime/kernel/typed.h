// What kernels of named parameters keep for each list of argument types and each variant on a
// device.
#pragma once
#include "compiler/compile.h"
#include "runtime/driver/handles.h"
#include "runtime/kernel/argument.h"
#include "runtime/kernel/table.h"

#include <memory>
#include <mutex>
#include <span>
#include <string>

namespace quern {

// The key of a list of argument types.
[[nodiscard]] ByteKey type_key(const KernelSpec& spec, std::span<const Argument> args);
[[nodiscard]] Signature resolve_arguments(const KernelSpec& spec, std::span<const Argument> args);
// "float32, int64, structure": for listings.
[[nodiscard]] std::string types_text(const Signature& signature);

// How a raw array reaches the kernel, and its part of a variant's key.
[[nodiscard]] RawLayout raw_layout(const Array& array);
void add_raw(const RawLayout& raw, ByteKey& key);

[[nodiscard]] ModuleHandle load_module(Device& device, const Binary& binary,
                                       const std::string& name);
[[nodiscard]] CUfunction find_function(const Device& device, const ModuleHandle& module,
                                       const std::string& symbol);

// One list of argument types: its resolved signature and the variants that were needed so far.
template <class Loaded> struct Typed {
    Signature signature;
    ByteTable<Loaded> variants;
};

template <class Loaded> class TypedTable {
  public:
    // Reads without a lock; `mutex` guards writing.
    [[nodiscard]] Typed<Loaded>&
    find_or_resolve(const KernelSpec& spec, std::span<const Argument> args, std::mutex& mutex) {
        const ByteKey key = type_key(spec, args);
        if (Typed<Loaded>* found = types_.find(key))
            return *found;
        auto typed = std::make_unique<Typed<Loaded>>();
        typed->signature = resolve_arguments(spec, args);
        const std::lock_guard lock(mutex);
        return types_.insert(key, std::move(typed));
    }

  private:
    ByteTable<Typed<Loaded>> types_;
};

} // namespace quern
