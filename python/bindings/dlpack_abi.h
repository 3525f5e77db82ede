// The structures of DLPack 1.0, by which libraries hand tensors to each other. Their layout is the
// contract; the names are the specification's. Source:
// https://dmlc.github.io/dlpack/latest/c_api.html
#pragma once
#include <cstdint>

namespace quern::python::dlpack {

enum DeviceType : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };
enum TypeCode : std::uint8_t {
    integer = 0,
    unsigned_integer = 1,
    floating = 2,
    bfloat = 4,
    complex = 5,
    boolean = 6
};

struct Device {
    std::int32_t type, id;
};
struct DataType {
    std::uint8_t code, bits;
    std::uint16_t lanes;
};
struct Tensor {
    void* data;
    Device device;
    std::int32_t ndim;
    DataType dtype;
    std::int64_t* shape;
    std::int64_t* strides; // in elements; nullptr: C order
    std::uint64_t byte_offset;
};
struct ManagedTensor { // capsule "dltensor"
    Tensor tensor;
    void* context;
    void (*deleter)(ManagedTensor*);
};
struct ManagedTensorVersioned { // capsule "dltensor_versioned"
    std::uint32_t major, minor;
    void* context;
    void (*deleter)(ManagedTensorVersioned*);
    std::uint64_t flags; // bit 0: read-only; bit 1: a copy was made
    Tensor tensor;
};
inline constexpr std::uint64_t read_only_flag = 1, copied_flag = 2;

} // namespace quern::python::dlpack
