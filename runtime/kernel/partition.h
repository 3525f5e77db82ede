// Partitions of rows on the CPU: every wanted place gets the value that a sort would put there,
// what stands before it is not greater, what stands behind it not less.
#pragma once
#include "runtime/array/array.h"

#include <span>

namespace quern {

// `rows` is (rows, length) in C order. Writes the partitioned rows to `values`, or, as int64, the
// places that their values had in their row to `places`; one of both is null, and neither shares
// memory with `rows`. `wanted` are places in a row that rise. Order is `sort_rows`'s, but what is
// equal has none. Thread safe.
void partition_rows(const Array& rows, const Array* values, const Array* places,
                    std::span<const std::int64_t> wanted, CUstream stream,
                    void (*on_wait)(bool entering) = nullptr);

// Is that possible, and worth it? Else a sort is a partition too.
[[nodiscard]] bool can_partition(const Array& rows, bool with_places, std::size_t wanted);

} // namespace quern
