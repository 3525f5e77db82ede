// Outputs that callers give, checked before anything is written.
#include "runtime/kernel/given_output.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "compiler/compile.h"

namespace quern {

void check_given_output(const Array& out, const Device& device) {
    if (!out.writable())
        throw ValueError("output array is read-only");
    if (&out.device() != &device)
        throw ValueError(join("out is on ", out.device().name(), ", the operands on ",
                              device.name(), "; give an output on the same device"));
}

void check_given_output(const Array& out, const Device& device, const Dims& shape, DType result) {
    if (!(out.shape() == shape))
        throw ValueError(join("out is ", format_shape(out.shape()), ", the result is ",
                              format_shape(shape), ": give an out of exactly that shape"));
    check_given_output(out, device);
    if (!can_cast(result, out.dtype(), Casting::same_kind))
        throw TypeError(join("Cannot cast the result from dtype('", row(result).name,
                             "') to dtype('", row(out.dtype()).name,
                             "') with casting rule 'same_kind': give out= of another dtype"));
}

} // namespace quern
