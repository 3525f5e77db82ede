// Generated text, compared with golden/*.cu byte for byte. QUERN_UPDATE_GOLDEN=1 writes them anew:
// read the diff.
#include "compiler/codegen/elementwise.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace quern {
namespace {

struct Array {
    DType dtype;
    std::vector<std::int64_t> shape, strides; // bytes; empty strides: C order
};

struct Golden {
    const char* file;
    const char *in_params, *out_params, *operation;
    std::vector<Array> arrays; // of the parameters that are arrays, raw ones too; a scalar
                               // parameter has an empty dtype list
    std::vector<bool> is_array;
    Target target = Target::gpu;
    std::uint64_t address = 0x1000;
    const char* swift = "";      // the operation without branches
    bool first_is_place = false; // of the parameters
    const char *quick = "", *mend = "";
};

std::string emit(const Golden& golden) {
    ElementwiseText text;
    const std::string file = golden.file;
    text.name = file;
    text.in_params = golden.in_params;
    text.out_params = golden.out_params;
    text.operation = golden.operation;
    ElementwiseSpec spec = make_elementwise_spec(text);
    spec.params.front().place = golden.first_is_place;
    spec.swift = golden.swift;
    spec.quick = golden.quick;
    spec.mend = golden.mend;
    spec.total = !spec.swift.empty();
    spec.swift_steps = spec.total ? 2 : 0;
    std::vector<ArgType> args;
    std::vector<Array> arrays = golden.arrays;
    std::size_t next = 0;
    ElementwiseVariant variant;
    std::vector<Operand> operands;
    std::vector<std::int64_t> shape;
    for (Array& array : arrays) {
        if (!array.strides.empty() || array.shape.empty())
            continue;
        array.strides.resize(array.shape.size());
        auto stride = static_cast<std::int64_t>(bytes_of(array.dtype));
        for (std::size_t d = array.shape.size(); d-- > 0;) {
            array.strides[d] = stride;
            stride *= array.shape[d];
        }
    }
    for (std::size_t k = 0; k < spec.params.size(); ++k) {
        ArgType type;
        type.kind = golden.is_array[k] ? ArgType::Kind::array : ArgType::Kind::scalar;
        if (golden.is_array[k]) {
            const Array& array = arrays[next++];
            type.dtype = array.dtype;
            type.ndim = static_cast<std::int32_t>(array.shape.size());
            if (spec.params[k].raw) {
                variant.raw.push_back({static_cast<std::uint8_t>(type.ndim), true, true});
            } else {
                operands.push_back({array.shape.data(), array.strides.data(), type.ndim,
                                    static_cast<std::uint32_t>(bytes_of(array.dtype)),
                                    golden.address, spec.params[k].output, spec.params[k].place});
                if (array.shape.size() >= shape.size())
                    shape = array.shape;
            }
        }
        args.push_back(type);
    }
    const Signature signature = resolve(spec, args);
    PlanRequest request;
    request.shape = shape;
    request.operands = operands;
    request.target = golden.target;
    request.body = needs_of(spec);
    request.threads = 2;
    ElementwisePlan plan;
    EXPECT_TRUE(plan_elementwise(request, plan));
    variant.layout = plan.layout;
    return emit_elementwise(spec, signature, variant);
}

const std::vector<Golden>& goldens() {
    static const std::int64_t r = 512, c = 1024;
    static const std::vector<Golden> all{
        {"saxpy",
         "T a, T x, T y",
         "T out",
         "out = a * x + y",
         {{DType::float32, {4096}, {}}, {DType::float32, {4096}, {}}, {DType::float32, {4096}, {}}},
         {false, true, true, true}},
        {"peeled_int8",
         "T x, T y",
         "T z",
         "z = x + y",
         {{DType::int8, {4096}, {}}, {DType::int8, {4096}, {}}, {DType::int8, {4096}, {}}},
         {true, true, true},
         Target::gpu,
         0x1003},
        {"row_broadcast",
         "T x, T row",
         "T z",
         "z = x * row",
         {{DType::float32, {r, c}, {}}, {DType::float32, {c}, {}}, {DType::float32, {r, c}, {}}},
         {true, true, true}},
        {"column_broadcast_index",
         "T x, T column",
         "T z",
         "z = x * column + i + n",
         {{DType::float64, {r, c}, {}},
          {DType::float64, {r, 1}, {8, 0}},
          {DType::float64, {r, c}, {}}},
         {true, true, true}},
        {"strided_half",
         "T x",
         "T y",
         "y = x + T(1)",
         {{DType::float16, {r, c}, {c * 4, 4}}, {DType::float16, {r, c}, {}}},
         {true, true}},
        {"transposed",
         "T x, T y",
         "T z",
         "z = x + y",
         {{DType::float32, {r, c}, {}},
          {DType::float32, {r, c}, {4, r * 4}},
          {DType::float32, {r, c}, {}}},
         {true, true, true}},
        {"transposed_half",
         "T x, T y",
         "T z",
         "z = x + y",
         {{DType::float16, {c, c}, {}},
          {DType::float16, {c, c}, {2, c * 2}},
          {DType::float16, {c, c}, {}}},
         {true, true, true}},
        {"partial_write",
         "T x",
         "T y",
         "if (x > 0) y += x",
         {{DType::int32, {4096}, {}}, {DType::int32, {4096}, {}}},
         {true, true}},
        {"leaves_early",
         "T x",
         "T y",
         "if (x < 0) return;\ny = sqrt(x)",
         {{DType::float64, {4096}, {}}, {DType::float64, {4096}, {}}},
         {true, true}},
        {"raw_neighbours",
         "raw T x, int32 width",
         "T y",
         "y = x[i] - x[(i + width) % x.size()]",
         {{DType::uint8, {r, c}, {}}, {DType::uint8, {r * c}, {}}},
         {true, false, true}},
        {"positions",
         "T x",
         "T y",
         "y = x + _ind.get()[0]",
         {{DType::complex64, {r, c}, {c * 16, 8}}, {DType::complex64, {r, c}, {}}},
         {true, true}},
        {"swift_quotients",
         "T x, T y, T rows",
         "T z",
         "z = x / y / rows",
         {{DType::float32, {r, c}, {}},
          {DType::float32, {r, c}, {}},
          {DType::float32, {r, 1}, {4, 0}},
          {DType::float32, {r, c}, {}}},
         {true, true, true, true},
         Target::gpu,
         0x1000,
         "z = quern::swift::divide(quern::swift::divide(x, y, quern_usual), rows, quern_usual)"},
        {"swift_pairs",
         "T x, T y",
         "T z",
         "z = x / y / (i + 1)",
         {{DType::float32, {1 << 22}, {}},
          {DType::float32, {1 << 22}, {}},
          {DType::float32, {1 << 22}, {}}},
         {true, true, true},
         Target::gpu,
         0x1004,
         "z = quern::swift::divide(quern::swift::divide(x, y, quern_usual), T(i + 1), "
         "quern_usual)"},
        {"taken",
         "T x, int64 index",
         "T y",
         "y = x[index]",
         {{DType::float32, {4096}, {0}}, {DType::int64, {4096}, {}}, {DType::float32, {4096}, {}}},
         {true, true, true},
         Target::gpu,
         0x1000,
         "",
         true},
        {"two_steps",
         "T x, T y",
         "T r",
         "r = quern::ufunc::power(x, y)",
         {{DType::float64, {4096}, {}}, {DType::float64, {4096}, {}}, {DType::float64, {4096}, {}}},
         {true, true, true},
         Target::gpu,
         0x1000,
         "",
         false,
         "r = quern::near::quick_power(x, y, quern_usual)",
         "r = quern::near::mended_power(r, x, y)"},
        {"cpu_range",
         "T a, T x, T y",
         "T out",
         "out = a * x + y",
         {{DType::float32, {4096}, {}}, {DType::float32, {4096}, {}}, {DType::float32, {4096}, {}}},
         {false, true, true, true},
         Target::cpu},
        {"cpu_rows",
         "T x, T row",
         "T z",
         "z = x * row + i",
         {{DType::float32, {r, c}, {}}, {DType::float32, {c}, {}}, {DType::float32, {r, c}, {}}},
         {true, true, true},
         Target::cpu},
        {"cpu_gathered",
         "T x, U y, T far",
         "T z",
         "z = x + T(y) + far",
         {{DType::float32, {4096}, {8}},
          {DType::uint8, {4096}, {4}},
          {DType::float32, {4096}, {12}},
          {DType::float32, {4096}, {}}},
         {true, true, true, true},
         Target::cpu},
        {"cpu_blocked",
         "T x, T y",
         "T z",
         "z = x + y",
         {{DType::float32, {8, r, c}, {}},
          {DType::float32, {8, r, c}, {4 * r * c, 4, r * 4}},
          {DType::float32, {8, r, c}, {}}},
         {true, true, true},
         Target::cpu},
    };
    return all;
}

class GoldenText : public testing::TestWithParam<std::size_t> {};

TEST_P(GoldenText, IsAsWritten) {
    const Golden& golden = goldens()[GetParam()];
    const std::string text = emit(golden),
                      path = std::string(QUERN_GOLDEN) + "/" + golden.file + ".cu";
    EXPECT_EQ(text, emit(golden)) << "the same input must give the same bytes";
    if (std::getenv("QUERN_UPDATE_GOLDEN") != nullptr)
        std::ofstream(path) << text;
    std::ifstream file(path);
    std::ostringstream stored;
    stored << file.rdbuf();
    EXPECT_EQ(text, stored.str()) << path;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenText, testing::Range<std::size_t>(0, goldens().size()),
                         [](const auto& info) { return std::string(goldens()[info.param].file); });

} // namespace
} // namespace quern
