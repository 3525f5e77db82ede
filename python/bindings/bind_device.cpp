// Devices in Python: one object per device, `with` and `use()`, properties and waiting.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "python/bindings/bind_output.h"
#include "python/bindings/bind_stream.h"
#include "python/bindings/module.h"
#include "runtime/device/waits.h"
#include "runtime/driver/call_counts.h"
#include "runtime/driver/check.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <vector>

namespace py = pybind11;

namespace quern::python {
namespace {

// The devices that this thread's `with` blocks put aside, innermost last.
std::vector<Device*>& put_aside() {
    static thread_local std::vector<Device*> devices;
    return devices;
}

bool has_gpu() {
    const std::vector<std::string> names = device_names();
    return std::any_of(names.begin(), names.end(),
                       [](const std::string& name) { return name != "cpu"; });
}

int gpu_count() {
    const std::vector<std::string> names = device_names();
    return static_cast<int>(std::count_if(names.begin(), names.end(),
                                          [](const std::string& name) { return name != "cpu"; }));
}

struct AttributeRow {
    const char* name; // as CuPy spells it
    CUdevice_attribute id;
};
constexpr std::array attribute_table{
    AttributeRow{"MaxThreadsPerBlock", CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
    AttributeRow{"MaxBlockDimX", CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X},
    AttributeRow{"MaxBlockDimY", CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y},
    AttributeRow{"MaxBlockDimZ", CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z},
    AttributeRow{"MaxGridDimX", CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X},
    AttributeRow{"MaxGridDimY", CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y},
    AttributeRow{"MaxGridDimZ", CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z},
    AttributeRow{"MaxSharedMemoryPerBlock", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK},
    AttributeRow{"MaxSharedMemoryPerMultiprocessor",
                 CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
    AttributeRow{"TotalConstantMemory", CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY},
    AttributeRow{"WarpSize", CU_DEVICE_ATTRIBUTE_WARP_SIZE},
    AttributeRow{"MaxRegistersPerBlock", CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK},
    AttributeRow{"ClockRate", CU_DEVICE_ATTRIBUTE_CLOCK_RATE},
    AttributeRow{"MemoryClockRate", CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE},
    AttributeRow{"GlobalMemoryBusWidth", CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
    AttributeRow{"L2CacheSize", CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
    AttributeRow{"MultiProcessorCount", CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    AttributeRow{"MaxThreadsPerMultiProcessor", CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
    AttributeRow{"ComputeCapabilityMajor", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
    AttributeRow{"ComputeCapabilityMinor", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
    AttributeRow{"ConcurrentKernels", CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS},
    AttributeRow{"UnifiedAddressing", CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING},
    AttributeRow{"ManagedMemory", CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY},
    AttributeRow{"CooperativeLaunch", CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH},
    AttributeRow{"TextureAlignment", CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT},
    AttributeRow{"TexturePitchAlignment", CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT},
    AttributeRow{"MaxTexture1DWidth", CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH},
    AttributeRow{"MaxTexture1DLinearWidth", CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH},
    AttributeRow{"MaxTexture1DLayeredWidth", CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH},
    AttributeRow{"MaxTexture1DLayeredLayers", CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS},
    AttributeRow{"MaxTexture2DWidth", CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH},
    AttributeRow{"MaxTexture2DHeight", CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT},
    AttributeRow{"MaxTexture2DLinearWidth", CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH},
    AttributeRow{"MaxTexture2DLinearHeight", CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT},
    AttributeRow{"MaxTexture2DLinearPitch", CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH},
    AttributeRow{"MaxTexture2DLayeredWidth", CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH},
    AttributeRow{"MaxTexture2DLayeredHeight", CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT},
    AttributeRow{"MaxTexture2DLayeredLayers", CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS},
    AttributeRow{"MaxTexture3DWidth", CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH},
    AttributeRow{"MaxTexture3DHeight", CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT},
    AttributeRow{"MaxTexture3DDepth", CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH},
};

CUdevice handle_of(const Device& device) {
    CUdevice handle = 0;
    check(device.api(), device.api().cuDeviceGet(&handle, device.ordinal()), "find ",
          device.name());
    return handle;
}

py::dict attributes_of(const Device& device) {
    const CUdevice handle = handle_of(device);
    py::dict attributes;
    for (const AttributeRow& row : attribute_table) {
        int value = 0;
        if (device.api().cuDeviceGetAttribute(&value, row.id, handle) == CUDA_SUCCESS)
            attributes[row.name] = value;
    }
    return attributes;
}

py::tuple memory_of(const Device& device) {
    device.make_current();
    std::size_t free = 0, total = 0;
    check(device.api(), device.api().cuMemGetInfo(&free, &total), "ask ", device.name(),
          " for its free memory");
    return py::make_tuple(free, total);
}

std::string pci_bus_id_of(const Device& device) {
    std::array<char, 32> text{};
    const auto ask = device.api().cuDeviceGetPCIBusId;
    if (device.is_cpu() || ask == nullptr)
        throw Error(ErrorKind::not_implemented, join(device.name(), " has no PCI bus id"));
    check(device.api(), ask(text.data(), static_cast<int>(text.size()), handle_of(device)), "ask ",
          device.name(), " for its PCI bus id");
    return text.data();
}

} // namespace

int id_of(const Device& device) {
    if (!device.is_cpu())
        return device.ordinal();
    return has_gpu() ? -1 : 0;
}

Device& to_device(py::handle object) {
    if (object.is_none())
        return current_device();
    if (py::isinstance<Device>(object))
        return object.cast<Device&>();
    if (PyUnicode_Check(object.ptr()))
        return find_device(object.cast<std::string>());
    if (PyIndex_Check(object.ptr()) && !PyBool_Check(object.ptr())) {
        const int id = object.cast<int>();
        const int gpus = gpu_count();
        if (id == -1 || (id == 0 && gpus == 0))
            return find_device("cpu");
        if (id < 0 || id >= gpus)
            throw ValueError(join("there is no device ", id, ": this machine has ", gpus,
                                  " GPU(s), numbered from 0, and \"cpu\""));
        return find_device(join("cuda:", id));
    }
    throw TypeError(
        join("a device is a quern.Device, a name such as \"cpu\" or \"cuda:0\", or an int, not ",
             Py_TYPE(object.ptr())->tp_name));
}

void bind_device(py::module_& module) {
    py::class_<Device, std::unique_ptr<Device, py::nodelete>>(module, "Device", R"(
A device: a GPU ("cuda:0"; an int counts GPUs) or the CPU ("cpu"; 0 where there is no GPU).

`Device()` is this thread's current one, which starts as QUERN_DEVICE, else the first GPU, else the CPU. `use()` makes a
device current for the thread, a `with` block for its length. Raises: ValueError for a device that does not exist.
Source: CuPy, `cupy.cuda.Device`.)")
        .def(py::init([](const py::object& device) { return &to_device(device); }),
             py::arg("device") = py::none())
        .def_property_readonly("id", &id_of,
                               "The GPU's number; of the CPU 0 without a GPU, else -1.")
        .def_property_readonly("name", &Device::name, "\"cuda:0\", \"cpu\"")
        .def_property_readonly("is_cpu", &Device::is_cpu)
        .def_property_readonly(
            "product", [](const Device& device) { return device.properties().name; },
            "What the maker calls it, such as \"NVIDIA H200\".")
        .def_property_readonly(
            "compute_capability",
            [](const Device& device) {
                return join(device.properties().major, device.properties().minor);
            },
            "Major and minor version without a dot, \"90\"; \"00\" for the CPU.")
        .def_property_readonly(
            "arch", [](const Device& device) { return device.arch().name; },
            "What kernels are compiled for: \"sm_90\", \"x86-64-v3\".")
        .def_property_readonly("attributes", &attributes_of,
                               "The driver's attributes, a dict of int.")
        .def_property_readonly("mem_info", &memory_of, "(free, total) bytes.")
        .def_property_readonly("pci_bus_id", &pci_bus_id_of)
        .def(
            "use",
            [](py::object self) {
                set_current_device(self.cast<Device&>());
                return self;
            },
            "Make it this thread's current device; returns itself.")
        .def("synchronize", &Device::synchronize, py::call_guard<WaitForDevice>(),
             "Wait for all work of the device.")
        .def("__enter__",
             [](py::object self) {
                 Device& device = self.cast<Device&>();
                 put_aside().push_back(&current_device());
                 set_current_device(device);
                 return self;
             })
        .def("__exit__",
             [](Device&, const py::args&) {
                 if (put_aside().empty())
                     return;
                 set_current_device(*put_aside().back());
                 put_aside().pop_back();
             })
        .def("__eq__",
             [](const Device& self, const py::object& other) {
                 return py::isinstance<Device>(other) &&
                        other.cast<Device&>().index() == self.index();
             })
        .def("__hash__", &Device::index)
        .def("__int__", &id_of)
        .def("__index__", &id_of)
        .def("__str__", &Device::name)
        .def("__repr__",
             [](const Device& self) { return join("<quern.Device '", self.name(), "'>"); })
        .def("__reduce__", [](const py::object& self) {
            return py::make_tuple(py::type::of(self), py::make_tuple(self.attr("name")));
        });
    module.def("device_names", &device_names, "Names of all devices; touches no context.");
    module.def("gpu_count", &gpu_count);
    module.def(
        "_call_counts",
        [](const Device& device) {
            const CallCounts counts = call_counts(device.api(), device.is_cpu());
            return py::dict(py::arg("launches") = counts.launches,
                            py::arg("copies") = counts.copies, py::arg("fills") = counts.fills,
                            py::arg("waits") = counts.waits);
        },
        "What the device's driver was asked for since this was first called, for tests.");
    module.def("_allow_waits", &allow_waits,
               "Whether this thread may wait for devices from now on; returns what held before.");
    module.def(
        "driver_version",
        [] {
            int version = 0;
            if (const Driver* driver = find_cuda_driver())
                check(driver->api, driver->api.cuDriverGetVersion(&version), "ask for its version");
            return version;
        },
        "libcuda's version, 13000 for 13.0; 0 without a GPU.");
}

} // namespace quern::python
