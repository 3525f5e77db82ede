// The kernels of a selection for every dtype and road, through NVRTC.
#include "compiler/backend/backend.h"
#include "compiler/base/library.h"
#include "compiler/compile.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

TEST(Selection, EveryRoadAndDtypeCompilesForGpus) {
    if (find_library("nvrtc").empty())
        GTEST_SKIP() << "no NVRTC on this machine";
    int compiled = 0;
    for (const DTypeRow& dtype : dtype_table) {
        if (dtype.kind == Kind::complex)
            continue;
        for (const std::int64_t length : {20, 1000, 5000, 1 << 20})
            for (const std::int64_t places : {1, 20}) {
                SelectRequest request;
                request.rows = length == 1 << 20 ? 1 : 100'000;
                request.length = length;
                request.places = places;
                request.item_bytes = dtype.bytes;
                request.processors = 132;
                const DType result = places == 1 ? dtype.id : DType::float64;
                if (compiled++ % 5 != 0 && dtype.id != DType::float16)
                    continue; // the same templates
                RawSource source;
                source.code = emit_select(dtype.id, result, plan_select(request).layout);
                source.options = {"--fmad=false"};
                try {
                    const Arch arch = compiled % 2 == 0 ? gpu_arch(9, 0) : gpu_arch(8, 0);
                    EXPECT_FALSE(
                        compile_raw(source, arch, "quern_select", "").binary.image.empty());
                } catch (const std::exception& error) {
                    ADD_FAILURE() << dtype.name << ", rows of " << length << ": " << error.what();
                }
            }
    }
}

TEST(Selection, TheTextTellsItsMethodsInOrder) {
    const std::string text = emit_select(DType::float32, DType::float32, {});
    std::size_t at = 0;
    for (const QuantileRow& method : quantile_table) {
        const std::size_t found = text.find("// " + std::string(method.name) + "\n", at);
        ASSERT_NE(found, text.npos) << method.name;
        at = found;
    }
    EXPECT_EQ(text, emit_select(DType::float32, DType::float32, {}));
}

} // namespace
} // namespace quern
