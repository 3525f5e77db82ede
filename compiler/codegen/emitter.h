// The emitter of one elementwise kernel: names, declarations and the texts that its loops share.
// The loops of GPUs are in gpu_loops.cpp, those of the CPU in cpu_loops.cpp.
#pragma once
#include "compiler/codegen/elementwise.h"
#include "compiler/codegen/index.h"
#include "compiler/codegen/parts.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

class ElementwiseEmitter {
  public:
    ElementwiseEmitter(const ElementwiseSpec& spec, const Signature& signature,
                       const ElementwiseVariant& variant)
        : spec_(spec), signature_(signature), variant_(variant), layout_(variant.layout),
          out_(spec.name + ".cu"), q_(own_prefix(spec)), index_(index_type(layout_.index_bits)),
          signed_(signed_index_type(layout_.index_bits)) {
        int operand = 0;
        for (std::size_t k = 0; k < spec.params.size(); ++k)
            if (is_operand(k))
                operands_.push_back({k, operand++});
    }

    [[nodiscard]] std::string emit();

  private:
    struct OperandRef {
        std::size_t param;
        int number;
    };

    [[nodiscard]] bool is_operand(std::size_t k) const {
        return signature_.params[k].is_array && !spec_.params[k].raw;
    }
    [[nodiscard]] const Param& param(const OperandRef& ref) const {
        return spec_.params[ref.param];
    }
    [[nodiscard]] Access access(const OperandRef& ref) const {
        return layout_.access[static_cast<std::size_t>(ref.number)];
    }
    [[nodiscard]] bool loaded(const OperandRef& ref) const { // its old value matters
        return !param(ref).place &&
               (!param(ref).output || !(spec_.facts.assigned_first >> ref.param & 1));
    }
    [[nodiscard]] bool stored(const OperandRef& ref) const {
        return !param(ref).place && (param(ref).output || param(ref).non_const);
    }
    [[nodiscard]] std::string type(std::size_t k) const {
        return type_in_kernel(spec_, signature_, k);
    }
    [[nodiscard]] std::string type(const OperandRef& ref) const { return type(ref.param); }
    [[nodiscard]] std::string own(std::string_view name) const { return q_ + std::string(name); }
    // A family of names has a word between the prefix and the parameter, so that `q_data_step` is
    // never `q_step`.
    [[nodiscard]] std::string data(const OperandRef& ref) const {
        return own(join("data_", param(ref).name));
    }
    [[nodiscard]] std::string nest(std::string_view field) const {
        return join(q_, "nest.", field);
    }
    [[nodiscard]] static std::string axis_name(std::string_view what, int axis) {
        return join(what, "_", axis);
    }
    [[nodiscard]] std::string stride_name(const OperandRef& ref, int axis) const {
        return join(param(ref).name, "_stride_", axis);
    }

    [[nodiscard]] std::string element_count() const {
        if (layout_.strategy == Strategy::vector)
            return "static_cast<ptrdiff_t>(" + rows_times_inner() + ")";
        return join("static_cast<ptrdiff_t>(", nest("count"), ")");
    }
    [[nodiscard]] std::string
    rows_times_inner() const { // vector plans know steps; rows = steps / row_steps
        const std::string inner = nest(axis_name("extent", layout_.ndim - 1));
        if (layout_.ndim == 1)
            return inner;
        return join(nest("by_row.divide("), nest("steps"), ") * ", inner);
    }

    void reference(const OperandRef& ref, const std::string& element) {
        out_.line(constness(param(ref)), type(ref), param(ref).place ? "* const " : "& ",
                  param(ref).name, param(ref).place ? " = &" : " = ", element, ";");
    }
    // What is only read is read at once: a load that only some lanes want needs a mask, which is
    // slow, and very slow where a page was not touched for a while.
    void value(const OperandRef& ref, const std::string& element) {
        if (stored(ref) || param(ref).place)
            return reference(ref, element);
        out_.line("const ", type(ref), " ", param(ref).name, " = ", element, ";");
    }

    // Byte offset of an operand from the axes [0, last].
    [[nodiscard]] std::string offset(const OperandRef& ref, int last) const {
        std::string sum;
        for (int d = 0; d <= last; ++d)
            sum += join(d ? " + " : "", "static_cast<", signed_, ">(", own(axis_name("at", d)),
                        ") * ", nest(stride_name(ref, d)));
        return sum;
    }
    [[nodiscard]] std::string shifted(const OperandRef& ref, const std::string& bytes) const {
        return join("quern::at_byte(", data(ref), ", ", bytes, ")");
    }

    void grid_loop(const std::string& limit) {
        out_.open("for (", index_, " ", own("step"), " = static_cast<", index_,
                  ">(blockIdx.x) * blockDim.x + threadIdx.x; ", own("step"), " < ", limit, "; ",
                  own("step"), " += static_cast<", index_, ">(gridDim.x) * blockDim.x)");
    }

    // The element of an operand at the axes that split() declared.
    [[nodiscard]] std::string element(const OperandRef& ref) const {
        const int inner = layout_.ndim - 1;
        std::string bytes = inner > 0 ? offset(ref, inner - 1) : "";
        const std::string last = own(axis_name("at", inner));
        if (access(ref) == Access::strided)
            bytes += join(bytes.empty() ? "" : " + ", "static_cast<", signed_, ">(", last, ") * ",
                          nest(stride_name(ref, inner)));
        const std::string start = bytes.empty() ? data(ref) : shifted(ref, bytes);
        return access(ref) == Access::contiguous ? join(start, "[", last, "]") : join("*", start);
    }

    [[nodiscard]] std::string
    outer(const OperandRef& ref) const { // start of an operand for the tile's outer axes
        return layout_.ndim > 2 ? shifted(ref, offset(ref, layout_.ndim - 3)) : data(ref);
    }

    void head();
    void nest_struct();
    void kernel_head();
    void split(int last, const std::string& position);
    void locate_tile(int extent);
    [[nodiscard]] std::string tile_element(const OperandRef& ref, const std::string& start,
                                           const std::string& q, const std::string& p) const;
    void body(const std::string& position) { body(position, spec_.operation); }
    void body(const std::string& position, const std::string& operation);
    void turns_loop();
    void vector_loop();
    void single_loop();
    void scattered_loop();
    [[nodiscard]] bool reads_places() const;
    [[nodiscard]] int tile_blocks() const;
    void tile_loop();
    // Gives the text of an operand's first element in the current row.
    using Start = std::function<std::string(const OperandRef&)>;
    [[nodiscard]] bool moves() const;
    void row_loop(const std::string& from, const std::string& to, const Start& start,
                  const std::string& position);
    void range_loop();
    void blocked_loop();

    const ElementwiseSpec& spec_;
    const Signature& signature_;
    const ElementwiseVariant& variant_;
    const ElementwiseLayout& layout_;
    Writer out_;
    std::string q_, index_, signed_;
    std::vector<OperandRef> operands_;
};

} // namespace quern
