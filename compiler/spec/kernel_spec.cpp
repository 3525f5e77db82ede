// The door of this room: texts in, a checked ElementwiseSpec out.
#include "compiler/spec/kernel_spec.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "compiler/spec/body_facts.h"
#include "compiler/spec/complaint.h"
#include "compiler/spec/param_list.h"
#include "compiler/spec/tokens.h"

#include <utility>

namespace quern {
namespace {

void check_kernel_name(std::string_view name) {
    if (is_identifier(name) && !is_cpp_keyword(name))
        return;
    throw SpecError(join("Invalid kernel name: \"", name, "\"\n    help: ",
                         is_cpp_keyword(name)
                             ? "it is a word of C++; choose another name"
                             : "a name is letters, digits and _, and does not begin with a digit"));
}

void append(const std::vector<ListedParam>& listed, std::size_t offset, std::vector<Param>& params,
            std::vector<std::size_t>& columns) {
    for (const auto& [param, name_column] : listed) {
        params.push_back(param);
        columns.push_back(offset + name_column);
    }
}

} // namespace

std::vector<Param> parse_params(std::string_view list, bool output) {
    const auto line = flatten(list);
    const ListPlace place{"", line, 0};
    std::vector<Param> params;
    std::vector<std::size_t> columns;
    append(read_list(list, output, place), 0, params, columns);
    check_together(params, columns, place);
    return params;
}

void read_params(std::string_view in_params, std::string_view out_params, KernelSpec& spec) {
    check_kernel_name(spec.name);
    spec.in_params = in_params;
    spec.out_params = out_params;
    const auto lists = join_lists(in_params, out_params);
    const auto inputs = read_list(in_params, false, {spec.name, lists.line, 0});
    const auto outputs = read_list(out_params, true, {spec.name, lists.line, lists.out_offset});
    std::vector<std::size_t> columns;
    append(inputs, 0, spec.params, columns);
    append(outputs, lists.out_offset, spec.params, columns);
    spec.nin = static_cast<int>(inputs.size());
    spec.nout = static_cast<int>(outputs.size());
    check_together(spec.params, columns, {spec.name, lists.line, 0});
}

ElementwiseSpec make_elementwise_spec(const ElementwiseText& text) {
    ElementwiseSpec spec;
    spec.name = text.name;
    read_params(text.in_params, text.out_params, spec);
    if (spec.params.empty())
        throw SpecError(join(
            "kernel '", text.name,
            "': both parameter lists are empty\n    help: a kernel needs a parameter to work on, "
            "ElementwiseKernel(\"T x\", \"T y\", \"y = x\") for example"));

    spec.operation = text.operation;
    spec.preamble = text.preamble;
    spec.loop_prep = text.loop_prep;
    spec.after_loop = text.after_loop;
    spec.reduce_dims = text.reduce_dims;
    spec.no_return = text.no_return;
    spec.return_tuple = text.return_tuple;
    spec.options = text.options;
    spec.origin = text.origin;
    spec.facts = find_body_facts(
        {spec.operation, spec.loop_prep, spec.after_loop, spec.preamble, spec.options},
        spec.params);
    return spec;
}

std::string params_with_carets(const KernelSpec& spec, const std::vector<int>& marked) {
    const auto lists = join_lists(spec.in_params, spec.out_params);
    std::vector<std::size_t> columns;
    for (const int k : marked) {
        const auto& param = spec.params[static_cast<std::size_t>(k)];
        columns.push_back(param.begin + (k >= spec.nin ? lists.out_offset : 0));
    }
    return format_carets(lists.line, std::move(columns));
}

} // namespace quern
