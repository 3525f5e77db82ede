// The best level works on the program, a copy waits for the plain one.
#include "compiler/host/levels.h"
#include "compiler/host/passes.h"
#include <algorithm>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace quern::host {
namespace {

// The vectorisers' time grows faster than a program: this many instructions take about two seconds.
constexpr unsigned instructions_a_second = 15000;

bool is_sound(const llvm::Module& module, std::string& log) {
    std::string trouble;
    llvm::raw_string_ostream stream(trouble);
    if (!llvm::verifyModule(module, &stream))
        return true;
    log += "quern's passes made a broken module: " + trouble;
    return false;
}

Level best_level(const Program& program, unsigned limit_ms, std::string& log) {
    const unsigned size = program.module->getInstructionCount();
    if (limit_ms != 0 &&
        std::uint64_t{size} * 1000 > std::uint64_t{limit_ms} * instructions_a_second) {
        log += "note: the program is large (" + std::to_string(size) +
               " instructions): it is compiled without the vectorisers\n";
        return Level::plain;
    }
    return Level::best;
}

std::string seconds(unsigned limit_ms) {
    auto text = std::to_string(limit_ms / 1000);
    if (const unsigned rest = limit_ms % 1000; rest != 0) {
        text += "." + std::to_string(1000 + rest).substr(1);
        text.erase(text.find_last_not_of('0') + 1);
    }
    return text + " s";
}

bool run(Program& program, llvm::TargetMachine& machine, const Cpu& cpu, std::string& log) {
    make_row_runners(program, machine);
    if (!program.budget.was_refused() && !is_sound(*program.module, log))
        return false;
    if (program.level == Level::plain || !program.budget.is_spent())
        optimise(program, machine, cpu);
    return true;
}

} // namespace

unsigned allowed_ms(const Program& program, unsigned limit_ms) {
    return limit_ms * static_cast<unsigned>(std::clamp<std::size_t>(program.kernels.size(), 1, 8));
}

bool make_fast(Program& program, llvm::TargetMachine& machine, const Cpu& cpu, unsigned limit_ms,
               std::string& log) {
    program.level = best_level(program, limit_ms, log);
    const unsigned allowed = allowed_ms(program, limit_ms);
    std::unique_ptr<llvm::Module> spare;
    std::vector<Kernel> kernels;
    if (limit_ms != 0 && program.level == Level::best) {
        spare = llvm::CloneModule(*program.module);
        kernels = program.kernels;
        for (auto& kernel : kernels)
            kernel.thunk = spare->getFunction(kernel.thunk->getName());
    }
    program.budget = Budget(allowed);
    if (!run(program, machine, cpu, log))
        return false;
    if (!program.budget.was_refused())
        return true;
    const std::string note = "note: to optimise the program takes more than " + seconds(allowed) +
                             " (--quern-optimise-limit): ";
    program.was_too_slow = true;
    if (!spare || program.optimised_at == 1) { // no level is lower: what was reached is kept
        log += note + "the last passes were left out\n";
        return true;
    }
    const bool was_cut = std::any_of(kernels.begin(), kernels.end(), [&](const Kernel& kernel) {
        return kernel.waits && program.cut_waiting;
    });
    log += note + "it is compiled at a lower level, without the vectorisers" +
           (was_cut ? "; threads that wait stay fibers\n" : "\n");
    program.module = std::move(spare);
    program.kernels = std::move(kernels);
    program.level = Level::plain;
    program.budget = Budget(allowed);
    return run(program, machine, cpu, log);
}

} // namespace quern::host
