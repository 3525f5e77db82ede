// Every loop of every ufunc compiles for GPUs that are not here: the texts of all their kernels as
// functions of one program, and whole kernels of a few.
#include "compiler/base/error.h"
#include "compiler/base/library.h"
#include "compiler/base/text.h"
#include "compiler/codegen/parts.h"
#include "compiler/compile.h"
#include "compiler/prelude/prelude.h"
#include "tests/private_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

namespace quern {
namespace {

const Arch gpu{Target::gpu, "sm_90"};

constexpr std::string_view pieces = R"(
#include "quern/elementwise.cuh"
#include "quern/half.cuh"
#include "quern/bfloat16.cuh"
#include "quern/complex.cuh"
#include "quern/carray.cuh"
#include "quern/convert.cuh"
#include "quern/ufunc.cuh"
#include "quern/narrow.cuh"
)";

// The short file has all that kernels ask it for: every name of the table that it lacks is known to
// be long.
TEST(Ufuncs, ShortAndLongFilesHaveThemAll) {
    const std::string plain(prelude_piece("quern/ufunc_plain.cuh").text),
        whole(prelude_piece("quern/ufunc.cuh").text);
    const auto has = [](const std::string& text, const std::string& name) {
        return std::regex_search(
            text,
            std::regex(join("( ", name, "\\(|(NEAR|CUDA|FLOAT|SIGNS|POWERS)\\(", name, "\\b)")));
    };
    constexpr std::string_view space = "quern::ufunc::";
    for (const UfuncRow& ufunc : ufunc_table) {
        const std::string_view text = ufunc.expression;
        for (std::size_t at = 0; (at = text.find(space, at)) != text.npos;) {
            at += space.size();
            const std::string name(text.substr(at, text.find('(', at) - at));
            const bool is_long = std::ranges::binary_search(long_ufuncs, name);
            if (is_long)
                EXPECT_TRUE(has(whole, name)) << name;
            else
                EXPECT_TRUE(has(plain, name) || name.starts_with("is_nan") || name == "maximum" ||
                            name == "minimum")
                    << name;
        }
    }
}

// The body of a kernel as a function of its parameters: its operation, and a GPU's forms of it.
std::string function_of(const ElementwiseSpec& spec, int number) {
    std::string list;
    for (const Param& param : spec.params) {
        const std::string_view type = row(param.dtype).spelling;
        if (!list.empty())
            list += ", ";
        if (param.raw)
            list += join(param.output ? "" : "const ", "CArray<", param.output ? "" : "const ",
                         type, ", 2, false, true> ", param.name);
        else
            list += join(param.output ? "" : "const ", type, "& ", param.name);
    }
    std::string functions;
    for (const auto& [name, text] : {std::pair("f", &spec.operation),
                                     {"swift", &spec.swift},
                                     {"quick", &spec.quick},
                                     {"mend", &spec.mend}})
        if (!text->empty())
            functions += join("__device__ void ", name, number, "(", list,
                              ", ptrdiff_t i, bool& quern_usual) {\n", *text, ";\n}\n");
    return functions;
}

void compile_all(const std::string& functions) {
    RawSource source;
    source.code = std::string(pieces) + functions;
    try {
        EXPECT_FALSE(compile_raw(source, gpu, "ufuncs", "").binary.image.empty());
    } catch (const CompileError& error) {
        ADD_FAILURE() << error.what();
    }
}

UfuncForm form_of(const UfuncRow& wanted, const UfuncLoop& loop) {
    UfuncForm form;
    form.ufunc = wanted.id;
    form.loop = loop;
    form.given = loop.types;
    return form;
}

TEST(Ufuncs, EveryLoopCompilesForGpus) {
    if (find_library("nvrtc").empty())
        GTEST_SKIP() << "no NVRTC on this machine";
    std::string functions;
    int number = 0;
    for (const UfuncRow& wanted : ufunc_table)
        for (const UfuncLoop& loop : loops_of(wanted)) {
            if (loop.refused)
                continue;
            UfuncForm form = form_of(wanted, loop);
            functions += function_of(ufunc_spec(form), number++);
            // The same between other types, under a mask.
            form.masked = true;
            form.given[0] = DType::uint16;
            form.given[static_cast<std::size_t>(inputs_of(wanted))] = DType::complex128;
            functions += function_of(ufunc_spec(form), number++);
        }
    EXPECT_GT(number, 1500);
    compile_all(functions);
}

TEST(Ufuncs, EveryWalkCompilesForGpus) {
    if (find_library("nvrtc").empty())
        GTEST_SKIP() << "no NVRTC on this machine";
    std::string functions;
    int number = 0;
    for (const UfuncRow& wanted : ufunc_table)
        for (const UfuncLoop& loop : loops_of(wanted)) {
            const int nin = inputs_of(wanted);
            if (loop.refused || nin > 2 || outputs_of(wanted) != 1)
                continue;
            UfuncWalkForm form;
            form.ufunc = wanted.id;
            form.loop = loop;
            form.in = loop.types[static_cast<std::size_t>(nin - 1)];
            form.out = loop.types[static_cast<std::size_t>(nin)];
            for (const UfuncWalk walk : {UfuncWalk::update, UfuncWalk::update_runs}) {
                form.walk = walk;
                functions += function_of(ufunc_walk_spec(form), number++);
            }
            if (nin != 2 || loop.types[0] != loop.types[2])
                continue;
            for (const UfuncWalk walk :
                 {UfuncWalk::reduce, UfuncWalk::accumulate, UfuncWalk::segments}) {
                form.walk = walk;
                form.masked = form.has_initial = walk == UfuncWalk::reduce && number % 2 == 0;
                functions += function_of(ufunc_walk_spec(form), number++);
            }
        }
    EXPECT_GT(number, 1000);
    compile_all(functions);
}

TEST(Ufuncs, WholeKernelsCompileForGpus) {
    if (find_library("nvrtc").empty())
        GTEST_SKIP() << "no NVRTC on this machine";
    const std::vector<std::pair<Ufunc, DType>> some{
        {Ufunc::add, DType::float32},         {Ufunc::divmod, DType::int16},
        {Ufunc::nextafter, DType::float16},   {Ufunc::exp2, DType::complex64},
        {Ufunc::frexp, DType::bfloat16},      {Ufunc::less_equal, DType::complex128},
        {Ufunc::logical_xor, DType::float16}, {Ufunc::power, DType::float32},
        {Ufunc::power, DType::float64},       {Ufunc::floor_divide, DType::float16},
        {Ufunc::remainder, DType::float64},   {Ufunc::fmod, DType::float32},
        {Ufunc::divmod, DType::float64},      {Ufunc::logaddexp, DType::float32},
        {Ufunc::logaddexp2, DType::bfloat16}, {Ufunc::power, DType::float16},
        {Ufunc::arcsinh, DType::float64},     {Ufunc::arctanh, DType::float16}};
    for (const auto& [ufunc, dtype] : some) {
        const UfuncRow& wanted = row(ufunc);
        for (const UfuncLoop& loop : loops_of(wanted)) {
            if (loop.types[0] != dtype)
                continue;
            const ElementwiseSpec spec = ufunc_spec(form_of(wanted, loop));
            const std::vector<ArgType> args(
                static_cast<std::size_t>(spec.nin),
                {.kind = ArgType::Kind::array, .dtype = dtype, .ndim = 1, .layout = {}});
            ElementwiseVariant variant;
            variant.layout.operand_count = static_cast<std::uint8_t>(spec.params.size());
            variant.layout.lanes = 4;
            variant.layout.swift = variant.layout.pairs = spec.takes_long;
            try {
                const CompiledKernel made =
                    compile_elementwise(spec, resolve(spec, args), variant, gpu);
                EXPECT_FALSE(made.binary.image.empty());
                if (spec.takes_long || !spec.quick.empty())
                    for (const std::string_view step : {wanted.quick, wanted.mend}) {
                        const std::size_t name = step.rfind("::"); // quern::narrow:: has some too
                        EXPECT_NE(made.source.find(step.substr(name == step.npos ? 0 : name)),
                                  std::string::npos)
                            << wanted.name;
                    }
            } catch (const CompileError& error) {
                ADD_FAILURE() << wanted.name << ": " << error.what();
            }
        }
    }
}

} // namespace
} // namespace quern
