// The files of compiler/host/device, put into the library by the build (embed.cmake).
#pragma once
#include <span>
#include <string_view>

namespace quern::host {

struct DeviceHeader {
    std::string_view name, text;
};

std::span<const DeviceHeader> device_headers();

} // namespace quern::host
