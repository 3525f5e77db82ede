// The way from Clang's raw IR to an object, one pass per file, in the order of this list.
#pragma once
#include "compiler/host/front_end.h"
#include "compiler/host/program.h"
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Target/TargetMachine.h>

namespace quern::host {

// ptx/translate.h: inline PTX becomes IR while Clang still knows source places; place_carry() after
// inlining.

// lockstep.cpp: for code that counts on warps to move in step.
void keep_warps_in_step(Program& program);

// waits.cpp: finds the kernels whose threads wait for each other. What such a kernel reads may
// change while it waits, whatever its pointers promise.
void find_waiting_kernels(Program& program);

// semantics.cpp: gives operations that C++ leaves undefined the results that a GPU gives.
void define_semantics(llvm::Module& module);

// The same division with the results that a GPU gives, safe for any operands; nullptr where the old
// one is safe already.
llvm::Value* divide(llvm::IRBuilder<>& build, llvm::BinaryOperator& old);

// lift.cpp: see there. For a body whose loop over threads is to be vectorised.
void lift_divisions(llvm::Function& body);

// inline.cpp: pulls every device function into the kernels that call it, as far as it can be.
void inline_device_functions(Program& program);

// spaces.cpp: says which memory an address is of, where a program asks.
void answer_spaces(Program& program, llvm::TargetMachine& machine);

// place.cpp: threadIdx and friends become the thunk's arguments, __shared__ variables places in the
// arena. Functions that could not be inlined read both from a thread-local context. Thunks come out
// as void(ptr args, ptr shared, i32 x 12): thread, block, block size, grid size.
void place_threads_and_shared(Program& program);
// The thunk's arguments that are threadIdx.x, blockIdx.x, blockDim.x and gridDim.x; y and z follow
// each.
inline constexpr unsigned thread_at = 2, block_at = 5, block_size_at = 8, grid_size_at = 11;

// unspoken.cpp: for code that counts on warps to move in step without saying so.
void keep_exchanges_in_step(Program& program);

// leaders.cpp: what one lane writes for its warp is seen as on hardware that moves in step.
void keep_leaders_in_step(Program& program);

// stragglers.cpp: what all threads read from shared memory they have read before one of them writes
// there, as on hardware that runs them side by side.
void wait_for_stragglers(Program& program);

// spin.cpp: loops that watch memory for another thread's write let the others go on.
void let_spinning_threads_wait(Program& program);

// threads.cpp: writes __quern_run_NAME and __quern_info_NAME. Kernels that read threadIdx need the
// optimiser on the loops around them; for the others these loops come after it.
void make_row_runners(Program& program, llvm::TargetMachine& machine);
void make_plain_runners(Program& program);

// fibers.cpp: the same for a kernel whose threads wait: the host driver gives each a stack of its
// own.
void make_fiber_runner(llvm::Module& module, Kernel& kernel);

// levels.h: the two above within a budget, or the program at a lower level.

// optimise.cpp: LLVM's O2 with libmvec, O1 where every kernel runs as fibers and at the plain
// level; then the object. Once the program's budget is spent, what can be left out is. A machine
// serves one compilation at a time; one that a compilation crashed with is not returned.
std::unique_ptr<llvm::TargetMachine> take_machine(const Cpu& cpu, std::string& log);
void return_machine(const Cpu& cpu, std::unique_ptr<llvm::TargetMachine> machine);
void optimise(Program& program, llvm::TargetMachine& machine, const Cpu& cpu);
bool emit_object(const Program& program, llvm::TargetMachine& machine, const Cpu& cpu,
                 llvm::SmallVectorImpl<char>& object);

} // namespace quern::host
