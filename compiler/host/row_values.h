// How values follow the threads of a row: the same for all of them, or growing with the thread
// index; and the same expressions anew for another index.
#pragma once
#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>

namespace quern::host {

enum class Shape { uniform, linear, other };

class RowShapes {
  public:
    // `thread_x` is the body's argument that runs along the row, and `number`, where there is one,
    // the thread's number in its block.
    explicit RowShapes(llvm::Argument* thread_x, llvm::Argument* number = nullptr)
        : thread_x_(thread_x), number_(number) {}

    // Values that are uniform or linear are made of arguments, constants and memory that does not
    // change, by operations that are safe anywhere.
    Shape shape(llvm::Value* value, int depth = 0);
    // Linear, and one more for each thread.
    bool counts(llvm::Value* value);

  private:
    Shape find_shape(llvm::Instruction& instruction, int depth);

    llvm::Argument *thread_x_, *number_;
    llvm::DenseMap<llvm::Value*, Shape> shapes_;
};

// Copies such expressions to `build`, the body's arguments replaced and `x` for the thread index.
class RowCopier {
  public:
    RowCopier(llvm::IRBuilder<>& build, llvm::ArrayRef<llvm::Value*> arguments,
              llvm::Argument* thread_x, llvm::Value* x)
        : build_(build), arguments_(arguments), thread_x_(thread_x), x_(x) {}

    llvm::Value* copy(llvm::Value* value);

  private:
    llvm::IRBuilder<>& build_;
    llvm::ArrayRef<llvm::Value*> arguments_;
    llvm::Argument* thread_x_;
    llvm::Value* x_;
    llvm::DenseMap<llvm::Value*, llvm::Value*> copies_;
};

} // namespace quern::host
