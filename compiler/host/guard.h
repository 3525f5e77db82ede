// When can every thread of a row run without its bounds check? The answer is code that asks at the
// row's two ends.
#pragma once
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <optional>
#include <vector>

namespace quern::host {

// Facts about a kernel body, true for a whole row of threads when they hold for the first and for
// the last thread.
struct RowFacts {
    std::vector<llvm::BinaryOperator*> sums; // thread index plus something uniform: must not wrap
    llvm::BranchInst* guard = nullptr; // `if (i < n)` around the work, or `if (i >= n) return`
    bool work_when = true;             // the guard's value on the side that works
    llvm::Value* fork = nullptr;       // or a comparison on whose answer all agree
};

// `thread_x` is the body's argument that runs along the row.
RowFacts find_row_facts(llvm::Function& body, llvm::Argument* thread_x);

// The facts about a body whose ways part at such a comparison: alike at both ends, it is so in
// between. `number` is the argument that is the thread's number in its block.
std::optional<RowFacts> find_fork_facts(llvm::Function& body, llvm::Value* fork,
                                        llvm::Argument* thread_x, llvm::Argument* number);

// Whether the sum is held to wrap in unsigned arithmetic neither, besides signed.
bool stays_unsigned(const llvm::BinaryOperator& sum);

// Emits, at `build`, the question whether the facts hold for all of a row. `arguments` are the
// body's, with any value in thread_x's place; `first` and `last` are thread indices.
struct RowAnswer {
    llvm::Value *sure, *fork; // whether they hold; what the fork's answer is then
};
RowAnswer emit_row_question(llvm::IRBuilder<>& build, const RowFacts& facts,
                            llvm::ArrayRef<llvm::Value*> arguments, llvm::Argument* thread_x,
                            llvm::Value* first, llvm::Value* last);

} // namespace quern::host
