// What the emitters of reductions, scans and row kernels share: names, addresses from positions
// and, of the first two, the user's expressions as lambdas.
#pragma once
#include "compiler/codegen/index.h"
#include "compiler/codegen/parts.h"
#include "compiler/codegen/writer.h"
#include "compiler/spec/reduction_spec.h"

#include <string>
#include <string_view>
#include <vector>

namespace quern {

class FoldEmitter {
  protected:
    FoldEmitter(const KernelSpec& spec, const Signature& signature, int index_bits);

    struct OperandRef {
        std::size_t param;
        int number;
        [[nodiscard]] friend bool operator==(const OperandRef&, const OperandRef&) = default;
    };

    [[nodiscard]] std::string own(std::string_view name) const { return q_ + std::string(name); }
    [[nodiscard]] std::string nest(std::string_view field) const {
        return join(q_, "nest.", field);
    }
    [[nodiscard]] const std::string& name(const OperandRef& ref) const {
        return kernel_.params[ref.param].name;
    }
    [[nodiscard]] const std::string& name_of(int operand) const;
    [[nodiscard]] std::string type(const OperandRef& ref) const {
        return type_in_kernel(kernel_, signature_, ref.param);
    }
    [[nodiscard]] std::string stride(const OperandRef& ref, int axis) const {
        return nest(join(name(ref), "_stride_", axis));
    }
    [[nodiscard]] std::string as_signed(const std::string& text) const {
        return join("static_cast<", signed_, ">(", text, ")");
    }
    [[nodiscard]] std::string zero() const { return index_zero(index_); }
    // Divides `position` over the axes [begin, end), the first of which takes what is left;
    // declares own(at_<axis>).
    void split_axes(const std::string& position, int begin, int end, std::string_view tag);
    // Byte offset along the axes [begin, end) at own(at_<axis>).
    [[nodiscard]] std::string offset(const OperandRef& ref, int begin, int end) const;
    [[nodiscard]] std::string at_byte(const std::string& pointer, const std::string& bytes) const;

    const KernelSpec& kernel_;
    const Signature& signature_;
    Writer out_;
    std::string q_, index_, signed_;
    std::vector<OperandRef> inputs_, outputs_;
};

class JoinEmitter : protected FoldEmitter {
  protected:
    JoinEmitter(const ReductionSpec& spec, const Signature& signature, int index_bits)
        : FoldEmitter(spec, signature, index_bits), spec_(spec) {}
    void accumulator_type(); // _type_reduce
    // own(name): a and b of `type` joined.
    void join_lambda(std::string_view name, const std::string& type);

    const ReductionSpec& spec_;
};

} // namespace quern
