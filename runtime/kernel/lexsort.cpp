// A stable sort for each key, from the first.
#include "runtime/kernel/lexsort.h"

#include "runtime/array/views.h"
#include "runtime/kernel/fill.h"
#include "runtime/kernel/order.h"
#include "runtime/kernel/search.h"
#include "runtime/stream/stream.h"

namespace quern {

Array lexsort(std::span<const Array> keys, void (*on_wait)(bool entering)) {
    const Array& first = keys[0];
    const bool one_row = first.shape()[0] == 1;
    if (one_row)
        keys = keys.subspan(count_in_order(keys, nullptr, on_wait)); // those change nothing
    if (keys.empty()) {
        const CUstream stream = current_stream(first.device());
        const Array places = Array::empty(first.device(), DType::int64, Dims{first.size()}, stream);
        fill_range(places, Scalar::of(std::int64_t{0}), Scalar::of(std::int64_t{1}), stream);
        return *reshape_view(places, first.shape());
    }
    Array places = argsort(keys[0], 1, {}, on_wait);
    for (const Array& key : keys.subspan(1)) {
        if (one_row && count_in_order({&key, 1}, &places, on_wait) == 1)
            continue;
        Array sorted = argsort_given(key, places, on_wait);
        keep_for_graph(key.device(), current_stream(key.device()), std::move(places));
        places = std::move(sorted);
    }
    return places;
}

} // namespace quern
