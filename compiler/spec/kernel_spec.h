// A kernel as its author wrote it: parameter lists and bodies, checked. Every complaint carries a
// caret.
#pragma once
#include "compiler/base/dtype.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

struct Param {
    std::string name;
    char placeholder = 0;         // 'T', or 0 when `dtype` is fixed
    DType dtype = DType::float32; // meaningful when placeholder == 0
    bool raw = false;
    bool output = false;
    bool non_const = false; // `_non_const`: an input that the body may write
    bool place = false;     // the body sees a pointer to the element, which nobody loads or stores;
                            // only kernels of ours have such
    std::uint32_t begin = 0, end = 0; // columns of "T x" in its own list, for carets
};

// What the text of the bodies tells without a compiler. Conservative: when in doubt, the costly
// answer.
struct BodyFacts {
    bool uses_i = false, uses_n = false, uses_ind = false;
    bool leaves_early = false; // return, break, continue or goto may skip the rest of the body
    // Bit k: the body surely assigns params[k] before it reads it, on every path (so the old value
    // is not needed).
    std::uint64_t assigned_first = 0;
    bool mentions_complex = false, mentions_half = false, mentions_bfloat16 = false;
    // Every identifier of all bodies and of the preamble (directives included), sorted, each once.
    std::vector<std::string> identifiers;
};

// What every kernel of named parameters has.
struct KernelSpec {
    std::string name;
    std::string in_params, out_params; // as written
    std::string preamble;
    std::vector<Param> params; // inputs, then outputs
    int nin = 0, nout = 0;
    bool reduce_dims = true;
    std::vector<std::string> options;
    std::string origin; // "script.py:12", the Python line that made the kernel; may be empty
    BodyFacts facts;
};

struct ElementwiseSpec : KernelSpec {
    std::string operation, loop_prep, after_loop;
    // The operation without branches; clears `quern_usual`, a bool, where that does not give its
    // results. "": there is no such.
    std::string swift;
    std::string swift_inverse;  // the same where the numbers that are divided are 1:
    std::string ones_condition; // where this holds
    int swift_steps = 0;        // operations that would have branches
    bool takes_long = false;    // `swift` is worth it where there are several elements a thread
    // The operation in two steps, for a GPU's packs of elements: `quick`, without branches, and
    // where that clears `quern_usual` for one of them `mend`, which finds its results. "": one
    // step.
    std::string quick, mend;
    bool no_return = false, return_tuple = false;
    bool total = false; // the body ends and does no harm whatever its inputs hold
};

// Does the body write places that it finds itself? Then two elements may write the same one.
[[nodiscard]] inline bool writes_places(const KernelSpec& spec) {
    for (const Param& param : spec.params)
        if (param.place && param.output)
            return true;
    return false;
}

// What the constructor of ElementwiseKernel receives, unchecked.
struct ElementwiseText {
    std::string_view in_params, out_params, operation;
    std::string_view name = "kernel";
    std::string_view preamble, loop_prep, after_loop;
    bool reduce_dims = true, no_return = false, return_tuple = false;
    std::vector<std::string> options;
    std::string origin;
};

// Throws SpecError: an unknown type or keyword, a reserved, duplicate or malformed name, no
// parameter at all...
[[nodiscard]] ElementwiseSpec make_elementwise_spec(const ElementwiseText& text);

// One parameter list; `output` only marks what it yields. Throws SpecError.
[[nodiscard]] std::vector<Param> parse_params(std::string_view list, bool output);

// The two lists as the author wrote them, "T a, T x -> T out", with carets under the named
// parameters: used by every later complaint about arguments. `marked` are indices into spec.params.
// Each line is indented by four spaces; a caret stands under the type of a marked parameter; no
// newline at the end.
[[nodiscard]] std::string params_with_carets(const KernelSpec& spec,
                                             const std::vector<int>& marked);

// Reads both lists into `spec`, whose name is set; every complaint but one about bodies comes from
// here. Throws SpecError.
void read_params(std::string_view in_params, std::string_view out_params, KernelSpec& spec);

} // namespace quern
