// Kernels of indexing compile for GPUs that are not here, in every loop that a plan may choose.
#include "compiler/base/carrier.h"
#include "compiler/base/error.h"
#include "compiler/base/library.h"
#include "compiler/compile.h"
#include "compiler/ops/line_kernel.h"
#include "tests/private_cache.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

const Arch gpu{Target::gpu, "sm_90"};

std::vector<ArgType> arguments(const ElementwiseSpec& spec, DType element) {
    std::vector<ArgType> args;
    for (const Param& param : spec.params) {
        const char first = param.name[0];
        const bool scalar =
            !param.raw && !param.output && param.name != "mask" &&
            (first == 'n' || first == 's' || first == 'w' || first == 'c' || first == 'l');
        args.push_back({.kind = scalar ? ArgType::Kind::scalar : ArgType::Kind::array,
                        .dtype = param.placeholder != 0 ? element : param.dtype,
                        .ndim = 2,
                        .layout = {}});
    }
    return args;
}

void compile_all(const ElementwiseSpec& spec, DType element, bool only_flat = false) {
    const std::vector<ArgType> args = arguments(spec, element);
    const Signature signature = resolve(spec, args);
    std::uint8_t operands = 0;
    ElementwiseVariant variant;
    for (std::size_t k = 0; k < args.size(); ++k)
        if (spec.params[k].raw)
            variant.raw.push_back({.ndim = 2, .c_contiguous = false, .narrow = true});
        else
            operands += args[k].kind == ArgType::Kind::array;
    variant.layout.operand_count = operands;
    const auto compile = [&](Strategy strategy, int lanes, int ndim) {
        variant.layout.strategy = strategy;
        variant.layout.lanes = static_cast<std::uint8_t>(lanes);
        variant.layout.ndim = static_cast<std::uint8_t>(ndim);
        int operand = 0; // places lie anyhow, others one after the other
        for (std::size_t k = 0; k < args.size(); ++k)
            if (!spec.params[k].raw && args[k].kind == ArgType::Kind::array)
                variant.layout.access[static_cast<std::size_t>(operand++)] =
                    spec.params[k].place ? Access::strided : Access::contiguous;
        try {
            EXPECT_FALSE(compile_elementwise(spec, signature, variant, gpu).binary.image.empty());
        } catch (const CompileError& error) {
            ADD_FAILURE() << error.what();
        }
    };
    compile(Strategy::scattered, 1, 2);
    if (only_flat)
        return;
    compile(Strategy::vector, 4, 2);
    compile(Strategy::scattered, 4, 2);
    compile(Strategy::tile, 1, 2);
}

TEST(Indexing, EveryFormCompilesForGpus) {
    if (find_library("nvrtc").empty())
        GTEST_SKIP() << "no NVRTC on this machine";
    for (const IndexAct act : {IndexAct::get, IndexAct::set, IndexAct::locate})
        compile_all(index_spec({.act = act, .indices = {DType::int64, DType::uint8}}),
                    DType::complex128);
    for (const IndexMode mode : {IndexMode::wrap, IndexMode::clip})
        for (const bool narrow : {false, true})
            compile_all(index_spec({.mode = mode, .indices = {DType::int32}, .narrow = narrow}),
                        DType::uint32, true);
    for (const IndexAct act : {IndexAct::get, IndexAct::set})
        compile_all(index_spec({.act = act, .flat = true, .indices = {DType::int64}}),
                    DType::float32, true);
    for (const DType added : {DType::int32, DType::uint64, DType::int64, DType::float16,
                              DType::float64, DType::complex64})
        compile_all(index_spec({.act = IndexAct::add, .indices = {DType::int64}}), added, true);
    for (const IndexAct act : {IndexAct::max, IndexAct::min})
        for (const DType compared : {DType::int32, DType::uint32, DType::int64, DType::uint64})
            compile_all(index_spec({.act = act, .indices = {DType::int64}}), compared, true);
}

TEST(Indexing, MasksCompileForGpus) {
    if (find_library("nvrtc").empty())
        GTEST_SKIP() << "no NVRTC on this machine";
    for (const MaskAct act : {MaskAct::count, MaskAct::find, MaskAct::pick, MaskAct::fill})
        compile_all(mask_spec(act), DType::float32, true);
    compile_all(putmask_spec(false), DType::bfloat16, true);
    compile_all(putmask_spec(true), DType::complex64, true);
    compile_all(unravel_spec(3), DType::int64, true);
    compile_all(unravel_spec(most_unravelled_axes), DType::int64, true);
}

TEST(Indexing, LinesCompileForGpus) {
    if (find_library("nvrtc").empty())
        GTEST_SKIP() << "no NVRTC on this machine";
    for (const std::int64_t bytes : {1, 4, 8})
        for (const std::size_t parts : {2, 3, 4}) {
            if (const auto line = line_type(parts, bytes))
                compile_all(line_spec({LineWay::words, parts, bytes}), *line, true);
            compile_all(line_spec({LineWay::found, parts, bytes}), *carrier_of(bytes), true);
        }
    for (const bool lines : {false, true})
        for (const std::int64_t bytes : {1, 2, 4, 8, 16})
            compile_all(piece_spec({most_line_parts, bytes, lines}), *carrier_of(bytes), true);
}

} // namespace
} // namespace quern
