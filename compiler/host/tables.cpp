// What a table holds is known, so it becomes constants in registers; the bits of an index say which
// register and which place in it.
#include "compiler/host/tables.h"
#include "compiler/host/widest.h"
#include <bit>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <numeric>

namespace quern::host {
namespace {

using llvm::Intrinsic::ID;
using Values = llvm::SmallVector<llvm::Value*, 8>;

constexpr unsigned table_size = 16;

// A permutation of one register, and of two as if they were one.
struct Permutations {
    unsigned lanes = 0; // of a register; 0: the CPU has none that pay
    ID of_one = llvm::Intrinsic::not_intrinsic, of_two = llvm::Intrinsic::not_intrinsic;
};

// Registers of 512 bits: where the CPU has them and all callers work with them.
bool are_widest(const llvm::Function& lanes) {
    return llvm::all_of(lanes.users(), [](const llvm::User* user) {
        const auto* call = llvm::dyn_cast<llvm::Instruction>(user);
        return call && takes_512_bits(*call->getFunction());
    });
}

Permutations permutations(const llvm::Function& lanes, const Cpu& cpu) {
    const bool single = lanes.getReturnType()->getScalarType()->isFloatTy();
    if (are_widest(lanes))
        return single
                   ? Permutations{.lanes = 16, .of_one = llvm::Intrinsic::x86_avx512_permvar_sf_512}
                   : Permutations{.lanes = 8,
                                  .of_two = llvm::Intrinsic::x86_avx512_vpermi2var_pd_512};
    if (cpu.has("avx512vl"))
        return single ? Permutations{.lanes = 8,
                                     .of_two = llvm::Intrinsic::x86_avx512_vpermi2var_ps_256}
                      : Permutations{.lanes = 4,
                                     .of_two = llvm::Intrinsic::x86_avx512_vpermi2var_pd_256};
    if (cpu.has("avx2") && single)
        return {.lanes = 8, .of_one = llvm::Intrinsic::x86_avx2_permps};
    return {};
}

const llvm::GlobalVariable* find_table(llvm::Function& scalar) {
    for (auto& instruction : llvm::instructions(scalar))
        for (const auto& operand : instruction.operands())
            if (const auto* table =
                    llvm::dyn_cast<llvm::GlobalVariable>(operand->stripInBoundsOffsets());
                table && table->hasInitializer())
                return table;
    return nullptr;
}

// What the indices of one register's lanes choose.
llvm::Value* chosen(llvm::IRBuilder<>& build, const llvm::ConstantDataArray& table,
                    const Permutations& by, llvm::Value* indices) {
    Values found;
    unsigned bits = static_cast<unsigned>(std::countr_zero(by.lanes));
    for (unsigned start = 0; start < table_size; start += by.lanes) {
        llvm::SmallVector<llvm::Constant*, table_size> part;
        for (unsigned i = 0; i < by.lanes; ++i)
            part.push_back(table.getElementAsConstant(start + i));
        found.push_back(llvm::ConstantVector::get(part));
    }
    if (by.of_two != llvm::Intrinsic::not_intrinsic) {
        for (unsigned i = 0; 2 * i < found.size(); ++i)
            found[i] =
                build.CreateIntrinsic(by.of_two, {}, {found[2 * i], indices, found[2 * i + 1]});
        found.truncate(found.size() / 2);
        ++bits;
    } else {
        for (auto*& part : found)
            part = build.CreateIntrinsic(by.of_one, {}, {part, indices});
    }
    for (; found.size() > 1; found.truncate(found.size() / 2), ++bits) {
        auto* type = indices->getType();
        auto* bit = build.CreateAnd(indices, llvm::ConstantInt::get(type, 1U << bits));
        auto* upper = build.CreateICmpNE(bit, llvm::Constant::getNullValue(type));
        for (unsigned i = 0; 2 * i < found.size(); ++i)
            found[i] = build.CreateSelect(upper, found[2 * i + 1], found[2 * i]);
    }
    return found.front();
}

// Registers side by side; of lanes beyond the last one any.
llvm::Value* in_registers(llvm::IRBuilder<>& build, const llvm::ConstantDataArray& table,
                          const Permutations& by, llvm::Value* indices) {
    const unsigned lanes = llvm::cast<llvm::FixedVectorType>(indices->getType())->getNumElements();
    const unsigned taken = std::min(lanes, by.lanes);
    Values parts;
    for (unsigned start = 0; start < lanes; start += taken) {
        llvm::SmallVector<int, table_size> places(by.lanes, -1);
        std::iota(places.begin(), places.begin() + taken, static_cast<int>(start));
        parts.push_back(chosen(build, table, by, build.CreateShuffleVector(indices, places)));
    }
    llvm::SmallVector<int, 64> places(taken);
    std::iota(places.begin(), places.end(), 0);
    if (parts.size() == 1)
        return build.CreateShuffleVector(parts.front(), places);
    return llvm::concatenateVectors(build, parts);
}

llvm::Value* one_by_one(llvm::IRBuilder<>& build, llvm::Function& scalar, llvm::Value* indices,
                        llvm::Type* type) {
    llvm::Value* all = llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < llvm::cast<llvm::FixedVectorType>(type)->getNumElements(); ++i)
        all = build.CreateInsertElement(
            all, build.CreateCall(&scalar, {build.CreateExtractElement(indices, i)}), i);
    return all;
}

} // namespace

void write_table_lanes(llvm::Function& lanes, llvm::Function& scalar, const Cpu& cpu) {
    llvm::IRBuilder<> build(llvm::BasicBlock::Create(lanes.getContext(), "entry", &lanes));
    auto* indices = lanes.getArg(0);
    const auto by = permutations(lanes, cpu);
    const auto* table = find_table(scalar);
    const auto* values =
        table ? llvm::dyn_cast<llvm::ConstantDataArray>(table->getInitializer()) : nullptr;
    build.CreateRet(by.lanes != 0 && values && values->getNumElements() == table_size
                        ? in_registers(build, *values, by, indices)
                        : one_by_one(build, scalar, indices, lanes.getReturnType()));
}

} // namespace quern::host
