// numpy.lexsort: an order by several keys.
#pragma once
#include "runtime/array/array.h"

#include <span>

namespace quern {

// The int64 places that sort rows by the last key, where it has equal elements by the one before,
// and so on. At least one key; all are (rows, length) in C order, of one shape and on one device. A
// CPU waits once to see which of the first keys stand in order already, if they are one long row
// and the thread may wait.
[[nodiscard]] Array lexsort(std::span<const Array> keys, void (*on_wait)(bool entering) = nullptr);

} // namespace quern
