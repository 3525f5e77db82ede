// Argument types in, a Signature without open types out. Outputs vote first, then input arrays,
// never scalars.
#pragma once
#include "compiler/spec/kernel_spec.h"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace quern {

struct FieldPlace {
    std::string name;
    std::uint32_t offset_bytes = 0, bytes = 0;
};

// The layout of a structured scalar, as C++ text that the kernel declares: fields, paddings, size
// and alignment.
struct StructLayout {
    std::string spelling;   // name of the struct in the kernel: "quern_struct_<digest>"
    std::string definition; // the complete C++ definition
    std::uint32_t bytes = 0, alignment = 1;
    std::vector<FieldPlace> places; // filled for raw kernels, which need nothing else but `bytes`
    std::vector<std::string>
        headers; // prelude pieces that the definition needs, sorted: "quern/complex.cuh"
};

// One argument of a call, by type alone.
struct ArgType {
    enum class Kind : std::uint8_t {
        array,
        scalar,
        structure,
        missing
    }; // missing: an output not given
    Kind kind = Kind::missing;
    DType dtype =
        DType::float32; // of an array; of a NumPy scalar (for messages only: scalars do not vote)
    std::int32_t ndim = 0;
    std::shared_ptr<const StructLayout> layout; // of a structure
};

struct ResolvedParam {
    DType dtype = DType::float32;
    bool is_array = false;                      // else passed by value
    std::shared_ptr<const StructLayout> layout; // set: a structured scalar, `dtype` is meaningless
};

struct Signature {
    std::vector<ResolvedParam> params; // one per spec.params
    std::vector<std::pair<char, std::string>>
        placeholders; // 'T' -> C++ spelling, in order of first appearance
};

// `args` has spec.nin entries, or nin + nout. Throws ResolveError (mismatch: both sides with
// carets; wrong number; a scalar as output) or UndecidedTypeError (a placeholder that nothing
// decides, named with its parameter).
[[nodiscard]] Signature resolve(const KernelSpec& spec, std::span<const ArgType> args);

} // namespace quern
