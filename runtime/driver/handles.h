// Driver handles that close themselves, each through the table it came from.
#pragma once
#include "runtime/driver/api.h"

#include <memory>

namespace quern {

template <auto Member> struct Close {
    const DriverApi* api = nullptr;
    template <class T> void operator()(T* handle) const noexcept { (api->*Member)(handle); }
};
template <class T, auto Member> using Handle = std::unique_ptr<T, Close<Member>>;

using StreamHandle = Handle<CUstream_st, &DriverApi::cuStreamDestroy>;
using EventHandle = Handle<CUevent_st, &DriverApi::cuEventDestroy>;
using ModuleHandle = Handle<CUmod_st, &DriverApi::cuModuleUnload>;

} // namespace quern
