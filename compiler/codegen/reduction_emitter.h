// The emitter of one reduction: declarations, and what its loops share. The loops of GPUs
// are in reduction_gpu.cpp, those of the CPU in reduction_cpu.cpp.
#pragma once
#include "compiler/codegen/fold_emitter.h"
#include "compiler/codegen/reduction.h"

#include <string>
#include <string_view>

namespace quern {

class ReductionEmitter : private JoinEmitter {
  public:
    ReductionEmitter(const ReductionSpec& spec, const Signature& signature,
                     const ReductionVariant& variant);
    [[nodiscard]] std::string emit();

  private:
    [[nodiscard]] Access access(const OperandRef& ref) const {
        return layout_.access[static_cast<std::size_t>(ref.number)];
    }
    [[nodiscard]] bool rows() const { return layout_.strategy == ReductionStrategy::rows; }
    [[nodiscard]] bool cpu() const { return layout_.target == Target::cpu; }
    [[nodiscard]] int fastest() const {
        return rows() ? layout_.ndim() - 1 : layout_.kept_ndim - 1;
    }

    void head();
    void nest_struct();
    void kernel_open(std::string_view suffix);
    void lambdas();
    void post_lambda();
    // The current element's value, from `J` and `row` where the map looks at them, joined to
    // `into`.
    void accumulate(const std::string& into, const std::string& position, const std::string& row);
    void map_value(const std::string& position, const std::string& row);
    [[nodiscard]] std::string result(const std::string& row, const std::string& value) const;
    [[nodiscard]] std::string places(int begin, int end) const;
    [[nodiscard]] std::string identity() const;
    // A thread's own sums may be narrower.
    [[nodiscard]] std::string inner_type() const;
    [[nodiscard]] std::string inner_join() const;
    [[nodiscard]] std::string inner_identity() const;
    [[nodiscard]] std::string widened(const std::string& sum) const;

    // GPU
    void gpu_rows();
    void gpu_columns();
    void split_block();
    void declare_parts(const std::string& places);
    [[nodiscard]] std::string leave_part(const std::string& at, const std::string& place,
                                         const std::string& value) const;
    void finish(const std::string& places);
    [[nodiscard]] std::string clamped(const std::string& index, const std::string& end) const;
    [[nodiscard]] bool takes_packs() const { // whole ones, of neighbours in the result's order
        return spec_.inner_takes_packs && !layout_.masked && !layout_.scattered &&
               layout_.spread == 1 && layout_.lanes >= 4 &&
               access(inputs_.front()) == Access::contiguous;
    }
    void load_batch(const std::string& batch, const std::string& base, const std::string& from,
                    const std::string& to);
    void declare_batch(int count);
    void accumulate_batch(const std::string& batch, const std::string& accumulators,
                          int accumulator_count, const std::string& position,
                          const std::string& position_step, const std::string& row);

    // CPU
    void cpu_rows();
    void cpu_element(const std::string& position, const std::string& row,
                     const std::string& end = {});
    [[nodiscard]] std::string cpu_operand(const OperandRef& ref, const std::string& from) const;
    void cpu_column_rows(int count);
    void cpu_folded_runs();
    void cpu_columns();
    void cpu_finish();
    void unit_loop();
    void declare_sums();
    // Rows that are done where one element decides; blocks that share one tell each other by a
    // counter that is zero before and afterwards.
    [[nodiscard]] bool settles() const {
        return cpu() && rows() && !layout_.brief && !spec_.settled.empty();
    }

    const ReductionVariant& variant_;
    const ReductionLayout& layout_;
};

} // namespace quern
