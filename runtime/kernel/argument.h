// What a kernel call receives: arrays, scalars by value, structures by value, or nothing where an
// output may be made.
#pragma once
#include "compiler/resolve/signature.h"
#include "runtime/array/array.h"
#include "runtime/texture/texture.h"

#include <complex>
#include <cstdint>
#include <optional>

namespace quern {

// A Python or NumPy scalar before it is stored into the dtype that the kernel resolved.
struct Scalar {
    enum class Kind : std::uint8_t { boolean, integer, unsigned_integer, floating, complex };
    Kind kind = Kind::integer;
    bool is_numpy = false; // a NumPy scalar of dtype `dtype`, else a Python one
    DType dtype = DType::int64;
    union {
        bool boolean;
        std::int64_t integer;
        std::uint64_t unsigned_integer; // past 2^63 - 1
        double floating;
    };
    double imaginary = 0; // with `floating` as the real part
    Scalar() : integer(0) {}
    static Scalar of(bool value);
    static Scalar of(std::int64_t value);
    static Scalar of(std::uint64_t value);
    static Scalar of(double value);
    static Scalar of(std::complex<double> value);
};

// Stores `value` as `dtype` at `place` (bytes_of(dtype) bytes) by NumPy's assignment rules: 2.5
// into int32 is 2; -1 into uint8 throws Error{overflow}; a complex into a real throws TypeError.
void store_scalar(const Scalar& value, DType dtype, void* place);

struct Argument {
    ArgType::Kind kind = ArgType::Kind::missing;
    const Array* array = nullptr;
    Scalar scalar;
    const void* structure_bytes = nullptr;
    std::shared_ptr<const StructLayout> layout;
    const TexelObject* object = nullptr; // a texture or a surface, whose handle the scalar is

    static Argument of(const Array& value) {
        Argument argument;
        argument.kind = ArgType::Kind::array;
        argument.array = &value;
        return argument;
    }
    static Argument of(const Scalar& value) {
        Argument argument;
        argument.kind = ArgType::Kind::scalar;
        argument.scalar = value;
        return argument;
    }
    static Argument of(const TexelObject& value) {
        Argument argument = of(Scalar::of(value.handle()));
        argument.scalar.is_numpy = true; // of exactly this width
        argument.scalar.dtype = DType::uint64;
        argument.object = &value;
        return argument;
    }
    [[nodiscard]] Device* device() const noexcept { // nullptr: of any
        return array != nullptr    ? &array->device()
               : object != nullptr ? &object->device()
                                   : nullptr;
    }
};

} // namespace quern
