// What the texts of row kernels share, however threads hold the rows: the classes of their joins,
// the numbers they receive.
#pragma once
#include "compiler/codegen/fold_emitter.h"
#include "compiler/codegen/rows.h"

#include <string>

namespace quern {

class RowTexts : protected FoldEmitter {
  protected:
    RowTexts(const RowSpec& spec, const Signature& signature, const RowLayout& layout)
        : FoldEmitter(spec, signature, layout.index_bits), spec_(spec), layout_(layout) {}

    [[nodiscard]] Access access(const OperandRef& ref) const {
        return layout_.access[static_cast<std::size_t>(ref.number)];
    }
    [[nodiscard]] bool per_row(const OperandRef& ref) const { return spec_.per_row[ref.param]; }
    // One value for the whole row, loaded before it.
    [[nodiscard]] bool is_single(const OperandRef& ref) const {
        return per_row(ref) || access(ref) == Access::repeated;
    }
    template <class Visit> void each_stored(const Visit& visit) const {
        for (const OperandRef& ref : outputs_)
            if (!per_row(ref))
                visit(ref);
    }
    [[nodiscard]] std::string type_of_join(std::size_t k, std::size_t j) const {
        return own(join("join_", k, "_", j));
    }
    [[nodiscard]] std::string inner(std::size_t k, std::size_t j) const {
        return type_of_join(k, j) + "::quern_own";
    }
    [[nodiscard]] std::string pack_type(const OperandRef& ref) const {
        return join("quern::Pack<", type(ref), ", ", int{layout_.lanes}, ">");
    }

    void head(std::string_view piece);
    void joins();                 // a class for each: its types, its start, how two are joined
    void nest_struct();           // what the kernel receives besides its arguments
    void open_kernel(int blocks); // of which a multiprocessor shall have so many
    // In a scope of its own: own(value), an element's of join `j`, of the type; then `use` of it.
    void join_element(std::size_t k, std::size_t j, const std::string& type,
                      const std::string& use);
    [[nodiscard]] std::string joined_to(std::size_t k, std::size_t j,
                                        const std::string& into) const {
        return join(into, " = ", type_of_join(k, j), "::join<", inner(k, j), ">(", into, ", ",
                    own("value"), ");");
    }

    const RowSpec& spec_;
    const RowLayout& layout_;
};

} // namespace quern
