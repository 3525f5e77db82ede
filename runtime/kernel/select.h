// Selection: values of given ranks, or between ranks, out of rows that need not be sorted. What
// medians and quantiles are made of, and partitions can be.
#pragma once
#include "compiler/compile.h"
#include "runtime/array/array.h"

#include <string>

namespace quern {

struct SelectCall {
    QuantileMethod method = QuantileMethod::rank;
    bool skip_nan = false; // ranks count the values that are no NaN; else one NaN makes all results
                           // of its row NaN
    CUstream stream = nullptr;
    int splits = 0; // for experiments and tests: blocks that share a row
};

// `rows` is (rows, length) in C order, of a real dtype, with length >= 1; NaN stands behind all
// other values. `q` holds float64: quantiles, or ranks from 0 with QuantileMethod::rank. Writes
// `out`, (q.size, rows) in C order; its dtype is the rows' own or a float. Every row is read once
// for each digit of its keys (two or three times for float32), with several q together; the
// result is the same whatever the plan. Thread safe.
void select(const Array& rows, const Array& q, const Array& out, const SelectCall& call,
            void (*on_wait)(bool entering) = nullptr);

// The plan of such a call, as text.
[[nodiscard]] std::string explain_select(const Array& rows, const Array& q, const SelectCall& call);

} // namespace quern
