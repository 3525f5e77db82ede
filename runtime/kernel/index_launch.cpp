// The table of indexing kernels, and the way from a kernel's word to an exception.
#include "runtime/kernel/index_launch.h"

#include "compiler/base/error.h"
#include "runtime/host/later.h"
#include "runtime/kernel/fill.h"
#include "runtime/kernel/kernels_by_form.h"
#include "runtime/kernel/waiting.h"

namespace quern {

ElementwiseKernel& index_kernel(const IndexForm& form) { return kernel_by_form<index_spec>(form); }

Array apart_from(const Array& source, const Array& written, DType dtype) {
    if (!may_share_memory(source, written) && source.dtype() == dtype)
        return source;
    const CUstream stream = current_stream(source.device());
    Array copy = Array::empty(source.device(), dtype, source.shape(), stream);
    copy_into(copy, source, stream);
    return copy;
}

CheckedLaunch::CheckedLaunch(const IndexPlan& plan, Device& device, const IndexCall& call)
    : plan_(plan), device_(device), call_(call) {
    if (call.mode != IndexMode::raise)
        return;
    FaultSite site;
    for (const IndexedAxis& axis : plan.indexed)
        site.axes.push_back({axis.axis, axis.extent});
    site.name = call.name;
    site.complaint = call.complaint;
    ticket_ = note_site(device, site);
}

void CheckedLaunch::settle() const {
    if (ticket_.call == 0)
        return;
    if (!device_.is_cpu()) {
        const CUstream stream = current_stream(device_);
        if (index_check() != IndexCheck::now || is_capturing(device_, stream))
            return;
        const Waiting waiting(call_.on_wait);
        return Stream::external(device_, stream).synchronize();
    }
    if (host::keeps_work()) {
        const Waiting waiting(call_.on_wait);
        host::wait_for_kept_work();
    }
    if (!take_fault_of(device_, ticket_.call))
        return;
    if (call_.complaint != nullptr)
        throw ValueError(call_.complaint);
    refuse_wrong_index(plan_);
    throw Error(ErrorKind::index, "an index was out of bounds, and has changed since");
}

} // namespace quern
