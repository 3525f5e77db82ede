// Events: points in a stream's order that others can wait for and measure between.
#include "compiler/base/error.h"
#include "runtime/device/faults.h"
#include "runtime/driver/check.h"
#include "runtime/stream/stream.h"

namespace quern {

Event::Event(Device& device, bool timing, bool blocking) : device_(&device) {
    const unsigned flags = (timing ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING) |
                           (blocking ? CU_EVENT_BLOCKING_SYNC : CU_EVENT_DEFAULT);
    CUevent event = nullptr;
    device.make_current();
    check(device.api(), device.api().cuEventCreate(&event, flags), "make an event on ",
          device.name());
    handle_ = {event, {&device.api()}};
}

void Event::record(CUstream stream) {
    device_->make_current();
    check(device_->api(), device_->api().cuEventRecord(handle(), stream), "record an event on ",
          device_->name());
}

void Event::synchronize() const {
    device_->make_current();
    check(device_->api(), device_->api().cuEventSynchronize(handle()), "wait for an event of ",
          device_->name());
    throw_fault(*device_);
}

bool Event::done() const {
    device_->make_current();
    const CUresult status = device_->api().cuEventQuery(handle());
    if (status == CUDA_ERROR_NOT_READY)
        return false;
    check(device_->api(), status, "ask whether an event of ", device_->name(), " is done");
    return true;
}

float elapsed_ms(const Event& start, const Event& end) {
    const Device& device = start.device();
    if (&device != &end.device())
        throw ValueError(join("the time between events of ", device.name(), " and ",
                              end.device().name(), " is not defined: record both on one device"));
    float elapsed = 0;
    device.make_current();
    check(device.api(), device.api().cuEventElapsedTime(&elapsed, start.handle(), end.handle()),
          "measure the time between two events (were both recorded with timing, and are both "
          "done?)");
    return elapsed;
}

} // namespace quern
