// Writes LLVM IR for the instructions of one asm statement. Registers are values where the
// statement runs straight through, and stack slots where it branches.
#pragma once
#include "compiler/host/ptx/text.h"
#include "compiler/host/ptx/type.h"
#include <functional>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/NoFolder.h>
#include <map>
#include <span>

namespace quern::host::ptx {

using llvm::Value;
// Folds nothing: what C++ leaves undefined (shifts past the width, division by zero) is given its
// meaning by a later pass, which must see it.
using Builder = llvm::IRBuilder<llvm::NoFolder>;

// Two variables that stand for what every thread has: later passes put the thing itself there.
inline constexpr const char* carry_name = "__quern_carry"; // the carry flag: place_carry()
inline constexpr const char* shared_base_name =
    "__quern_shared_base"; // the first byte of the block's shared memory: place.cpp

llvm::GlobalVariable* shared_base(llvm::Module& module);
// A function that spaces.cpp answers: i1 (pointer, number of a space).
inline constexpr const char* space_question = "__quern_in_space";

struct Register {
    unsigned width = 32; // 1: predicate
    Value* value = nullptr;
    llvm::AllocaInst* slot = nullptr;
    llvm::ConstantInt* constant = nullptr; // passed with "n": a number of any width
};

class Emitter {
  public:
    // `kernel`: the function around the call is a kernel.
    Emitter(llvm::CallBase& call, bool kernel);
    void run(const std::vector<Statement>& statements); // throws Refusal; then the call is gone

    // --- for the instructions ---
    Builder build;
    llvm::LLVMContext& context;
    const Statement* statement = nullptr;

    bool take(std::string_view word); // whether the name has `.word`; then it is dealt with
    // The first of `words` that the name has; "" when it has none.
    std::string_view take_any(std::initializer_list<std::string_view> words);
    Type take_type(); // the next type in the name
    void want_operands(std::size_t least, std::size_t most);
    void want_operands(std::size_t count) { want_operands(count, count); }
    std::size_t operand_count() const { return statement->operands.size(); }
    const Operand& operand(std::size_t index) const { return statement->operands[index]; }
    // The instruction cannot run here; `why` may be empty.
    [[noreturn]] void refuse(const std::string& why = "") const;

    // Values come and go as `type.value(context)`. A register may be wider than the type only where
    // `loose`.
    Value* read(const Operand& operand, Type type, bool loose = false);
    Value* read(std::size_t index, Type type) { return read(operand(index), type); }
    Value* read_predicate(const Operand& operand);
    std::int64_t read_constant(const Operand& operand);
    bool is_number(const Operand& operand) const;
    void write(const Operand& operand, Type type, Value* value, bool loose = false);
    void write(Type type, Value* value) { write(operand(0), type, value); }
    void write_predicate(const Operand& operand, Value* value);
    Value* read_address(const Operand& operand); // of generic memory, as a pointer
    Value* read_shared_address(const Operand& operand);
    llvm::GlobalVariable* shared_base();
    Value* read_carry(); // i1
    void write_carry(Value* value);
    bool is_volatile() const; // asm volatile

    llvm::ConstantInt* number(unsigned width, std::uint64_t value) {
        return llvm::ConstantInt::get(llvm::IntegerType::get(context, width), value);
    }
    Value* constant(Type type, std::uint64_t value) {
        return llvm::ConstantInt::get(type.value(context), value, type.is_signed());
    }
    Value* intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<Value*> arguments) {
        return build.CreateIntrinsic(id, {arguments[0]->getType()}, arguments);
    }
    Value* call(llvm::StringRef name, llvm::Type* result, llvm::ArrayRef<Value*> arguments,
                bool convergent = false);
    llvm::Module& module() const { return *call_.getModule(); }
    llvm::AllocaInst* new_variable(llvm::Type* type);
    // A loop around what comes next: begins its block, and ends it, going on once `done` holds.
    llvm::BasicBlock* begin_loop();
    void end_loop(llvm::BasicBlock* loop, Value* done);
    void end_thread(); // a kernel's own text returns; functions that it calls leave

  private:
    struct Scope {
        std::map<std::string, Register> registers;
        std::map<std::string, llvm::BasicBlock*> labels;
    };

    void bind_arguments();
    void finish();
    void emit(const Statement& statement);
    void emit_instruction(const Statement& statement);
    void branch(const Statement& statement);
    void declare(const Statement& statement);
    void open_labels(const std::vector<Statement>& statements, std::size_t first);
    llvm::BasicBlock* new_block(const llvm::Twine& name = "");
    Register& find_register(const Operand& operand);
    Value* load(Register& reg);
    void store(Register& reg, Value* value);
    Value* sum(const Operand& operand, Value*& base);
    Value* literal(const Operand& operand, Type type);
    llvm::GlobalVariable* carry();

    llvm::CallBase& call_;
    bool kernel_;
    bool memory_ = false; // the statement clobbers memory
    std::size_t outputs_ = 0;
    std::vector<Register> arguments_;
    std::vector<Scope> scopes_;
    std::vector<bool> taken_;          // words of the instruction
    Value* predicate_ = nullptr;       // of an instruction without effects: chosen when it writes
    llvm::BasicBlock* tail_ = nullptr; // where the statement ends, if it branches
};

struct Instruction {
    std::string_view name; // the first word
    void (*emit)(Emitter&);
    bool pure = true; // only registers change: a predicate may choose afterwards
};
using Instructions = std::span<const Instruction>;

// One table per family.
Instructions arithmetic_instructions(); // arithmetic.cpp: integers
Instructions float_instructions();      // floats.cpp
Instructions bit_instructions();        // bits.cpp
Instructions video_instructions();      // video.cpp
Instructions compare_instructions();    // compare.cpp
Instructions convert_instructions();    // convert.cpp
Instructions memory_instructions();     // memory.cpp
Instructions atomic_instructions();     // atomics.cpp
Instructions warp_instructions();       // warp.cpp
Instructions control_instructions();    // control.cpp
// The same names with a floating-point type (add.f32), which is taken already.
void emit_float(Emitter& emitter, Type type);
// special.cpp: %laneid and friends, as their own width; null for a name it does not know.
Value* read_special(Emitter& emitter, const std::string& name, unsigned width);

} // namespace quern::host::ptx
