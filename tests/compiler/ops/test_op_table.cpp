// Every row of the op table is a kernel: its lists parse, its types resolve for every dtype, its
// name says whose it is.
#include "compiler/ops/op_table.h"
#include "compiler/resolve/signature.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace quern {
namespace {

TEST(OpTable, EveryRowIsASpecThatResolves) {
    std::set<std::string_view> names;
    for (const OpRow& op : op_table) {
        EXPECT_TRUE(op.name.starts_with("quern_")) << op.name;
        EXPECT_TRUE(names.insert(op.name).second) << op.name << " stands twice";
        ElementwiseText text;
        text.name = op.name;
        text.in_params = op.in_params;
        text.out_params = op.out_params;
        text.operation = op.operation;
        const ElementwiseSpec spec = make_elementwise_spec(text);
        EXPECT_EQ(spec.facts.assigned_first >> spec.nin & 1, 1u)
            << op.name << " would load its output first";
        for (const DTypeRow& dtype : dtype_table) {
            std::vector<ArgType> args;
            for (const Param& param : spec.params)
                args.push_back(
                    {ArgType::Kind::array, param.placeholder ? dtype.id : param.dtype, 1, nullptr});
            EXPECT_EQ(resolve(spec, args).params.back().dtype,
                      spec.params.back().placeholder ? dtype.id : spec.params.back().dtype);
        }
    }
}

} // namespace
} // namespace quern
