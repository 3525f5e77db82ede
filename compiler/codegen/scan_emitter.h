// The emitter of one scan: declarations, and what its loops share. The loops of GPUs are in
// scan_gpu.cpp, those of the CPU in scan_cpu.cpp.
#pragma once
#include "compiler/codegen/fold_emitter.h"
#include "compiler/codegen/scan.h"

#include <string>
#include <string_view>

namespace quern {

class ScanEmitter : private JoinEmitter {
  public:
    ScanEmitter(const ReductionSpec& spec, const Signature& signature, const ScanVariant& variant);
    [[nodiscard]] std::string emit();

  private:
    [[nodiscard]] Access access(const OperandRef& ref) const {
        return layout_.access[static_cast<std::size_t>(ref.number)];
    }
    [[nodiscard]] bool cpu() const { return layout_.target == Target::cpu; }
    [[nodiscard]] std::string pack(const OperandRef& ref) const { return own("pack_" + name(ref)); }
    [[nodiscard]] std::string start(const OperandRef& ref) const {
        return own("from_" + name(ref));
    }

    void head();
    void nest_struct();
    void kernel_open();
    // own(from_<operand>): where its line begins, from own(at_<axis>) of the axes [0, end).
    void starts(int end, const std::string& further = "");
    // own(value) of the operands' current elements; each input's is element(ref).
    template <class Element> void mapped(Element&& element) {
        for (const OperandRef& ref : inputs_)
            out_.line("const ", type(ref), "& ", name(ref), " = ", element(ref), ";");
        map_value();
    }
    // The outputs' current elements from `joined`.
    template <class Element> void post_mapped(const std::string& joined, Element&& element) {
        for (const OperandRef& ref : outputs_)
            out_.line(type(ref), "& ", name(ref), " = ", element(ref), ";");
        out_.line("_type_reduce a = ", joined, ";");
        post_map();
    }
    void map_value();
    void post_map();

    // GPU
    void gpu_rows();
    void gpu_short_rows();
    void gpu_columns();
    void take_unit();
    void ask_before(const std::string& value, const std::string& step, const std::string& total,
                    const std::string& slot);
    void declare_packs(const std::vector<OperandRef>& list, const std::string& count);
    void load_packs(const std::string& slot, const std::string& position, const std::string& count,
                    const std::string& further);
    void store_packs(const std::string& slot, const std::string& position, const std::string& count,
                     const std::string& further);
    void read_values(const std::string& slot);
    void write_values(const std::string& slot, const std::string& value);
    void scan_pack(const std::string& slot);

    // CPU
    void cpu_rows();
    void cpu_columns();
    void open_columns(); // a loop over those of a strip
    void column_walk(bool puts);
    void unit_loop();
    void element_lambdas();
    [[nodiscard]] std::string tells() const; // not the last tile of a line

    const ScanVariant& variant_;
    const ScanLayout& layout_;
};

} // namespace quern
