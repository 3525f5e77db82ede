// See emitter.h. Registers, operands and branches; what instructions mean is in the families'
// files.
#include "compiler/host/ptx/emitter.h"
#include "compiler/host/program.h"
#include <bit>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

namespace quern::host::ptx {
namespace {

const std::map<std::string_view, const Instruction*>& all_instructions() {
    static const auto table = [] {
        std::map<std::string_view, const Instruction*> rows;
        for (const auto family :
             {arithmetic_instructions(), float_instructions(), bit_instructions(),
              video_instructions(), compare_instructions(), convert_instructions(),
              memory_instructions(), atomic_instructions(), warp_instructions(),
              control_instructions()})
            for (const auto& row : family)
                rows.emplace(row.name, &row);
        return rows;
    }();
    return table;
}

const Instruction* find_instruction(const Statement& statement) {
    const auto found = all_instructions().find(statement.words[0]);
    return found == all_instructions().end() ? nullptr : found->second;
}

bool is_branch(const Statement& statement) { return statement.words[0] == "bra"; }

bool runs_through(const std::vector<Statement>& statements) {
    for (const auto& statement : statements) {
        if (statement.kind == Statement::label)
            return false;
        if (statement.kind != Statement::instruction)
            continue;
        const auto* row = find_instruction(statement);
        if (is_branch(statement) ||
            (statement.predicate.kind != Operand::none && row && !row->pure) ||
            statement.words[0] == "exit")
            return false;
    }
    return true;
}

std::string describe(const Operand& operand) {
    if (operand.kind == Operand::argument)
        return "%" + std::to_string(operand.index);
    return operand.kind == Operand::name ? "'" + operand.text + "'" : "this operand";
}

} // namespace

Emitter::Emitter(llvm::CallBase& call, bool kernel)
    : build(&call), context(call.getContext()), call_(call), kernel_(kernel) {}

void Emitter::refuse(const std::string& why) const {
    throw Refusal("the PTX instruction '" + statement->text + "' cannot run on the CPU" +
                  (why.empty() ? "" : ": " + why));
}

bool Emitter::is_volatile() const {
    return llvm::cast<llvm::InlineAsm>(call_.getCalledOperand())->hasSideEffects();
}

// --- the whole statement ---

void Emitter::bind_arguments() {
    const auto& text = *llvm::cast<llvm::InlineAsm>(call_.getCalledOperand());
    if (!llvm::isa<llvm::CallInst>(call_))
        throw Refusal("'asm goto' has no meaning in PTX");
    unsigned input = 0;
    bool memory = false;
    auto* type = call_.getType();
    for (const auto& info : text.ParseConstraints()) {
        Register reg;
        if (info.Type == llvm::InlineAsm::isClobber) {
            memory |= info.Codes.size() == 1 && info.Codes[0] == "{memory}";
            continue;
        }
        if (info.isIndirect)
            throw Refusal("PTX has no memory operands: pass the address with \"l\"");
        if (info.Type == llvm::InlineAsm::isOutput) {
            auto* part = type;
            if (auto* all = llvm::dyn_cast<llvm::StructType>(type))
                part = all->getElementType(static_cast<unsigned>(arguments_.size()));
            reg.width = static_cast<unsigned>(
                module().getDataLayout().getTypeSizeInBits(part).getFixedValue());
            arguments_.push_back(reg);
            ++outputs_;
            continue;
        }
        Value* value = call_.getArgOperand(input++);
        const auto& code = info.Codes.empty() ? std::string() : info.Codes[0];
        if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(value);
            known && (code == "n" || code == "i")) {
            reg.constant = known;
            reg.width = known->getBitWidth();
            arguments_.push_back(reg);
            continue;
        }
        if (value->getType()->isPointerTy())
            value = build.CreatePtrToInt(value, build.getInt64Ty());
        else if (!value->getType()->isIntegerTy() && !value->getType()->isStructTy() &&
                 !value->getType()->isArrayTy())
            value = build.CreateBitCast(value, build.getIntNTy(static_cast<unsigned>(
                                                   value->getType()->getPrimitiveSizeInBits())));
        if (!value->getType()->isIntegerTy())
            throw Refusal("an operand of this inline assembly fits no PTX register");
        reg.width = value->getType()->getIntegerBitWidth();
        reg.value = value;
        if (!code.empty() && code[0] >= '0' && code[0] <= '9') { // "+r": the output's first value
            auto& output = arguments_[std::stoul(code)];
            if (output.width == reg.width)
                output.value = value;
            else
                output.value = build.CreateZExtOrTrunc(value, build.getIntNTy(output.width));
        }
        arguments_.push_back(reg);
    }
    memory_ = memory;
}

void Emitter::run(const std::vector<Statement>& statements) {
    bind_arguments();
    const auto compiler_fence = [&] {
        build.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent,
                          llvm::SyncScope::SingleThread);
    };
    if (memory_)
        compiler_fence();
    if (!runs_through(statements)) {
        auto* head = call_.getParent();
        tail_ = head->splitBasicBlock(&call_, "ptx.end");
        head->getTerminator()->eraseFromParent();
        build.SetInsertPoint(head);
        build.SetCurrentDebugLocation(call_.getDebugLoc());
        for (auto& reg : arguments_)
            if (!reg.constant)
                store(reg, reg.value ? reg.value : number(reg.width, 0));
    }
    scopes_.emplace_back();
    open_labels(statements, 0);
    for (std::size_t i = 0; i < statements.size(); ++i) {
        statement = &statements[i];
        try {
            if (statement->kind == Statement::open) {
                scopes_.emplace_back();
                open_labels(statements, i + 1);
            } else if (statement->kind == Statement::close) {
                if (scopes_.size() == 1)
                    throw Refusal("PTX: '}' without '{'");
                scopes_.pop_back();
            } else {
                emit(*statement);
            }
        } catch (Refusal& refusal) {
            refusal.line = statement->line;
            throw;
        }
    }
    if (scopes_.size() != 1)
        throw Refusal("PTX: '}' is missing");
    if (tail_) {
        build.CreateBr(tail_);
        build.SetInsertPoint(&call_);
    }
    if (memory_ && !statements.empty())
        compiler_fence();
    finish();
}

void Emitter::finish() {
    auto* type = call_.getType();
    if (!type->isVoidTy()) {
        const auto as = [&](Value* value, llvm::Type* wanted) -> Value* {
            return wanted->isPointerTy() ? build.CreateIntToPtr(value, wanted)
                                         : build.CreateBitCast(value, wanted);
        };
        Value* result;
        if (auto* all = llvm::dyn_cast<llvm::StructType>(type)) {
            result = llvm::PoisonValue::get(type);
            for (unsigned i = 0; i < all->getNumElements(); ++i)
                result = build.CreateInsertValue(
                    result, as(load(arguments_[i]), all->getElementType(i)), i);
        } else {
            result = as(load(arguments_[0]), type);
        }
        call_.replaceAllUsesWith(result);
    }
    call_.eraseFromParent();
}

void Emitter::open_labels(const std::vector<Statement>& statements, std::size_t first) {
    int depth = 0;
    for (std::size_t i = first; i < statements.size() && depth >= 0; ++i) {
        const auto& statement = statements[i];
        depth += statement.kind == Statement::open    ? 1
                 : statement.kind == Statement::close ? -1
                                                      : 0;
        if (depth == 0 && statement.kind == Statement::label)
            scopes_.back().labels.emplace(statement.text, new_block("ptx.label"));
    }
}

llvm::BasicBlock* Emitter::new_block(const llvm::Twine& name) {
    return llvm::BasicBlock::Create(context, name, call_.getFunction(), tail_);
}

void Emitter::emit(const Statement& statement) {
    switch (statement.kind) {
    case Statement::declaration:
        declare(statement);
        return;
    case Statement::label: {
        auto* block = scopes_.back().labels.at(statement.text);
        build.CreateBr(block);
        build.SetInsertPoint(block);
        return;
    }
    default:
        break;
    }
    if (is_branch(statement)) {
        branch(statement);
        return;
    }
    if (statement.predicate.kind == Operand::none) {
        emit_instruction(statement);
        return;
    }
    Value* condition = read_predicate(statement.predicate);
    if (!tail_) {
        predicate_ = condition;
        emit_instruction(statement);
        predicate_ = nullptr;
        return;
    }
    auto *body = new_block(), *rest = new_block();
    build.CreateCondBr(condition, body, rest);
    build.SetInsertPoint(body);
    emit_instruction(statement);
    build.CreateBr(rest);
    build.SetInsertPoint(rest);
}

void Emitter::emit_instruction(const Statement& statement) {
    const auto* row = find_instruction(statement);
    if (!row)
        refuse();
    taken_.assign(statement.words.size(), false);
    taken_[0] = true;
    row->emit(*this);
    for (std::size_t i = 0; i < taken_.size(); ++i)
        if (!taken_[i])
            refuse("'." + statement.words[i] + "' is not supported");
}

void Emitter::branch(const Statement& statement) {
    if (statement.operands.size() != 1 || statement.operands[0].kind != Operand::name)
        refuse("it wants one label");
    llvm::BasicBlock* target = nullptr;
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend() && !target; ++scope)
        if (const auto found = scope->labels.find(statement.operands[0].text);
            found != scope->labels.end())
            target = found->second;
    if (!target)
        refuse("no label '" + statement.operands[0].text + "' in this statement");
    auto* rest = new_block();
    if (statement.predicate.kind == Operand::none)
        build.CreateBr(target);
    else
        build.CreateCondBr(read_predicate(statement.predicate), target, rest);
    build.SetInsertPoint(rest);
}

llvm::AllocaInst* Emitter::new_variable(llvm::Type* type) {
    auto& entry = call_.getFunction()->getEntryBlock();
    return Builder(&entry, entry.begin()).CreateAlloca(type);
}

llvm::BasicBlock* Emitter::begin_loop() {
    if (!tail_)
        return call_.getParent()->splitBasicBlock(&call_, "ptx.loop");
    auto* loop = new_block("ptx.loop");
    build.CreateBr(loop);
    build.SetInsertPoint(loop);
    return loop;
}

void Emitter::end_loop(llvm::BasicBlock* loop, Value* done) {
    auto* rest = tail_ ? new_block() : loop->splitBasicBlock(&call_, "ptx.done");
    if (!tail_)
        loop->getTerminator()->eraseFromParent();
    build.SetInsertPoint(loop);
    build.CreateCondBr(done, rest, loop);
    if (tail_)
        build.SetInsertPoint(rest);
    else
        build.SetInsertPoint(&call_);
}

void Emitter::end_thread() {
    if (!kernel_) {
        call("__quern_leave_thread", build.getVoidTy(), {}, true);
        return;
    }
    build.CreateRetVoid();
    build.SetInsertPoint(new_block());
}

void Emitter::declare(const Statement& statement) {
    const auto type = find_type(statement.words[0]);
    if (!type)
        throw Refusal("PTX: registers of type '." + statement.words[0] + "'");
    for (const auto& name : statement.names) {
        Register reg;
        reg.width = type->size();
        if (tail_)
            store(reg, number(reg.width, 0));
        scopes_.back().registers[name] = reg;
    }
}

// --- registers ---

Register& Emitter::find_register(const Operand& operand) {
    if (operand.kind == Operand::argument) {
        if (operand.index >= arguments_.size())
            refuse("there is no operand %" + std::to_string(operand.index));
        return arguments_[operand.index];
    }
    if (operand.kind == Operand::name)
        for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
            if (const auto found = scope->registers.find(operand.text);
                found != scope->registers.end())
                return found->second;
    refuse(operand.kind != Operand::name ? "a register was expected"
           : operand.text[0] == '%'
               ? "there is no '" + operand.text + "' here, nor is it a register that the CPU has"
               : "'" + operand.text + "' is not declared here");
}

Value* Emitter::load(Register& reg) {
    if (reg.slot)
        return build.CreateLoad(build.getIntNTy(reg.width), reg.slot);
    return reg.value ? reg.value : number(reg.width, 0);
}

void Emitter::store(Register& reg, Value* value) {
    if (!tail_) {
        reg.value = value;
        return;
    }
    if (!reg.slot)
        reg.slot = new_variable(build.getIntNTy(reg.width));
    build.CreateStore(value, reg.slot);
}

// --- the instruction's name ---

bool Emitter::take(std::string_view word) {
    for (std::size_t i = 1; i < taken_.size(); ++i)
        if (!taken_[i] && statement->words[i] == word) {
            taken_[i] = true;
            return true;
        }
    return false;
}

std::string_view Emitter::take_any(std::initializer_list<std::string_view> words) {
    for (const auto word : words)
        if (take(word))
            return word;
    return "";
}

Type Emitter::take_type() {
    for (std::size_t i = 1; i < taken_.size(); ++i)
        if (const auto type = find_type(statement->words[i]); type && !taken_[i]) {
            taken_[i] = true;
            return *type;
        }
    refuse("its type is not one the CPU backend knows");
}

void Emitter::want_operands(std::size_t least, std::size_t most) {
    if (operand_count() < least || operand_count() > most)
        refuse("it has " + std::to_string(operand_count()) + " operands instead of " +
               std::to_string(least) + (most == least ? "" : " to " + std::to_string(most)));
}

// --- operands ---

bool Emitter::is_number(const Operand& operand) const {
    return operand.kind == Operand::integer || operand.kind == Operand::real ||
           operand.kind == Operand::single ||
           (operand.kind == Operand::argument && operand.index < arguments_.size() &&
            arguments_[operand.index].constant);
}

std::int64_t Emitter::read_constant(const Operand& operand) {
    if (operand.kind == Operand::integer)
        return static_cast<std::int64_t>(operand.bits);
    if (operand.kind == Operand::argument && operand.index < arguments_.size()) {
        const auto& reg = arguments_[operand.index];
        auto* known =
            reg.constant ? reg.constant : llvm::dyn_cast_or_null<llvm::ConstantInt>(reg.value);
        if (known)
            return known->getSExtValue();
    }
    refuse(describe(operand) + " has to be a constant: pass it with \"n\"");
}

Value* Emitter::literal(const Operand& operand, Type type) {
    if (operand.kind == Operand::argument || operand.kind == Operand::integer) {
        if (type.is_real() && operand.kind == Operand::integer)
            refuse("a floating-point number is written 0f3F800000 or 1.0");
        const auto value = static_cast<std::uint64_t>(read_constant(operand));
        if (type.size() > 64)
            return llvm::ConstantInt::get(build.getIntNTy(type.size()), value, true);
        return number(type.size(), value);
    }
    if (type.size() != 32 && type.size() != 64)
        refuse("it takes no floating-point number");
    double real = std::bit_cast<double>(operand.bits);
    if (operand.kind == Operand::single) {
        const auto bits = static_cast<std::uint32_t>(operand.bits);
        if (type.size() == 32)
            return number(32, bits);
        real = std::bit_cast<float>(bits);
    }
    return type.size() == 32 ? number(32, std::bit_cast<std::uint32_t>(static_cast<float>(real)))
                             : number(64, std::bit_cast<std::uint64_t>(real));
}

Value* Emitter::read(const Operand& operand, Type type, bool loose) {
    if (type.kind == Type::predicate)
        return read_predicate(operand);
    Value* value;
    if (is_number(operand)) {
        value = literal(operand, type);
    } else if (operand.kind == Operand::name && operand.text[0] == '%' &&
               (value = read_special(*this, operand.text, type.size()))) {
        value = build.CreateZExtOrTrunc(value, build.getIntNTy(type.size()));
    } else {
        auto& reg = find_register(operand);
        if (reg.width < type.size() || (reg.width > type.size() && !loose))
            refuse(describe(operand) + " has " + std::to_string(reg.width) +
                   " bits where it wants " + std::to_string(type.size()));
        value = load(reg);
        if (reg.width > type.size())
            value = build.CreateTrunc(value, build.getIntNTy(type.size()));
    }
    return build.CreateBitCast(value, type.value(context));
}

Value* Emitter::read_predicate(const Operand& operand) {
    Value* value;
    if (operand.kind == Operand::integer) {
        value = build.getInt1(operand.bits != 0);
    } else {
        auto& reg = find_register(operand);
        if (reg.width != 1)
            refuse(describe(operand) + " is no predicate");
        value = load(reg);
    }
    return operand.negated ? build.CreateNot(value) : value;
}

void Emitter::write(const Operand& operand, Type type, Value* value, bool loose) {
    if (operand.kind == Operand::name && operand.text == "_")
        return;
    if (operand.kind == Operand::argument && operand.index >= outputs_)
        refuse(describe(operand) + " is not an output of this statement");
    auto& reg = find_register(operand);
    if (reg.width < type.size() || (reg.width > type.size() && !loose))
        refuse(describe(operand) + " has " + std::to_string(reg.width) + " bits where it gives " +
               std::to_string(type.size()));
    value = build.CreateBitCast(value, build.getIntNTy(type.size()));
    auto* wide = build.getIntNTy(reg.width);
    if (reg.width > type.size())
        value = type.is_signed() ? build.CreateSExt(value, wide) : build.CreateZExt(value, wide);
    store(reg, predicate_ ? build.CreateSelect(predicate_, value, load(reg)) : value);
}

void Emitter::write_predicate(const Operand& operand, Value* value) {
    write(operand, Type{Type::predicate, 1}, value);
}

Value* Emitter::sum(const Operand& operand, Value*& base) {
    if (operand.kind != Operand::address || !operand.also.empty())
        refuse("an address in [ ] was expected");
    std::int64_t offset = 0;
    for (const auto& part : operand.parts)
        if (is_number(part)) {
            offset += read_constant(part);
        } else {
            if (base)
                refuse("an address is one register and a constant");
            auto& reg = find_register(part);
            if (reg.width != 32 && reg.width != 64)
                refuse(describe(part) + " is no address");
            base = load(reg);
        }
    return number(64, static_cast<std::uint64_t>(offset));
}

Value* Emitter::read_address(const Operand& operand) {
    Value* base = nullptr;
    Value* offset = sum(operand, base);
    if (!base || base->getType()->getIntegerBitWidth() != 64)
        refuse("an address of this memory has 64 bits");
    auto* pointer = build.CreateIntToPtr(base, build.getPtrTy());
    return build.CreateGEP(build.getInt8Ty(), pointer, offset);
}

// Addresses of shared memory count from the start of the block's arena, as on the hardware.
Value* Emitter::read_shared_address(const Operand& operand) {
    Value* base = nullptr;
    Value* offset = sum(operand, base);
    if (base)
        offset = build.CreateAdd(build.CreateZExt(base, build.getInt64Ty()), offset);
    return build.CreateGEP(build.getInt8Ty(), shared_base(), offset);
}

llvm::GlobalVariable* Emitter::shared_base() { return ptx::shared_base(module()); }

llvm::GlobalVariable* shared_base(llvm::Module& module) {
    auto* found = module.getNamedGlobal(shared_base_name);
    if (!found) {
        auto* byte = llvm::Type::getInt8Ty(module.getContext());
        found =
            new llvm::GlobalVariable(module, llvm::ArrayType::get(byte, 0), false,
                                     llvm::GlobalValue::ExternalLinkage, nullptr, shared_base_name);
        found->addAttribute(shared_attribute);
    }
    return found;
}

llvm::GlobalVariable* Emitter::carry() {
    auto* found = module().getNamedGlobal(carry_name);
    if (!found) {
        found = new llvm::GlobalVariable(module(), build.getInt8Ty(), false,
                                         llvm::GlobalValue::InternalLinkage, build.getInt8(0),
                                         carry_name);
    }
    return found;
}

Value* Emitter::read_carry() {
    return build.CreateTrunc(build.CreateLoad(build.getInt8Ty(), carry()), build.getInt1Ty());
}

void Emitter::write_carry(Value* value) {
    if (predicate_)
        value = build.CreateSelect(predicate_, value, read_carry());
    build.CreateStore(build.CreateZExt(value, build.getInt8Ty()), carry());
}

Value* Emitter::call(llvm::StringRef name, llvm::Type* result, llvm::ArrayRef<Value*> arguments,
                     bool convergent) {
    llvm::SmallVector<llvm::Type*, 4> types;
    for (auto* argument : arguments)
        types.push_back(argument->getType());
    auto callee = module().getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
    auto* function = llvm::cast<llvm::Function>(callee.getCallee());
    function->setDoesNotThrow();
    auto* made = build.CreateCall(callee, arguments);
    if (convergent) {
        function->setConvergent();
        made->setConvergent();
    }
    return made;
}

} // namespace quern::host::ptx
