// Lanes that exchange values through shared memory without a word: `s[t] += s[t + 8]; s[t] += s[t +
// 4];`. Without volatile or __syncwarp that is a race, which a warp that moves in step never loses,
// and programs count on it. Where a kernel reads what its neighbour has just written, all its
// stores to shared memory are made in step: the lanes gather before one writes what another may
// still read, and again before one reads what another has written.
#include "compiler/host/lane_addresses.h"
#include "compiler/host/passes.h"
#include "compiler/host/thread_values.h"
#include "compiler/host/waits.h"
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace quern::host {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

// Copies of structs, which Clang writes as one step, as what they are: a load and a store.
void split_copies(llvm::Function& thunk) {
    constexpr std::uint64_t most = 64; // bytes
    for (auto& instruction : llvm::make_early_inc_range(llvm::instructions(thunk))) {
        auto* copy = llvm::dyn_cast<llvm::MemCpyInst>(&instruction);
        const auto* bytes = copy ? llvm::dyn_cast<llvm::ConstantInt>(copy->getLength()) : nullptr;
        if (!bytes || copy->isVolatile() || bytes->isZero() || bytes->getZExtValue() > most ||
            (!shared_variable(copy->getSource(), thunk.getArg(1)) &&
             !shared_variable(copy->getDest(), thunk.getArg(1))))
            continue;
        llvm::IRBuilder<> build(copy);
        auto* word = build.getIntNTy(unsigned(8 * bytes->getZExtValue()));
        build.CreateAlignedStore(
            build.CreateAlignedLoad(word, copy->getSource(), copy->getSourceAlign()),
            copy->getDest(), copy->getDestAlign());
        copy->eraseFromParent();
    }
}

class Exchanges {
  public:
    Exchanges(llvm::Function& thunk, const llvm::SmallPtrSetImpl<Value*>& threads)
        : arena_(thunk.getArg(1)), data_(thunk.getParent()->getDataLayout()), threads_(threads) {
        for (auto& instruction : llvm::instructions(thunk)) {
            ++steps_left_;
            if (instruction.isVolatile() || instruction.isAtomic())
                continue;
            if (const auto* pointer = llvm::getLoadStorePointerOperand(&instruction)) {
                note(instruction, pointer, llvm::isa<llvm::StoreInst>(instruction),
                     data_.getTypeStoreSize(llvm::getLoadStoreType(&instruction)));
            } else if (const auto* copy = llvm::dyn_cast<llvm::MemCpyInst>(&instruction)) {
                const auto* bytes = llvm::dyn_cast<llvm::ConstantInt>(copy->getLength());
                const std::uint64_t size = bytes ? bytes->getZExtValue() : 1;
                note(instruction, copy->getRawSource(), false, size);
                note(instruction, copy->getRawDest(), true, size);
            }
        }
        steps_left_ *= 64;
    }

    // Does the kernel read a neighbour's place behind a store to its own, with no word between? A
    // thread that goes along memory is at another place in its next round. Or does it overwrite by
    // columns what it has read by rows?
    bool found() {
        for (const auto& from : accesses_) {
            if (!from.writes) {
                for (const auto* to : behind(from))
                    if (to->writes && is_turned(from.address, to->address))
                        return true;
                continue;
            }
            llvm::SmallPtrSet<const BasicBlock*, 32> rounds;
            for (const auto& part : from.address.parts)
                find_rounds(part.first, rounds);
            for (const auto* to : behind(from, std::move(rounds)))
                if (!to->writes && is_neighbours(from, *to))
                    return true;
        }
        return false;
    }

    // Which stores may overwrite what others have yet to read, and which ones others then read.
    void look_at_all() {
        for (const auto& from : accesses_)
            for (const auto* to : behind(from)) {
                if (from.writes == to->writes || is_own(from.address, to->address))
                    continue;
                if (from.writes)
                    read_later.insert(from.at);
                else
                    read_before.insert(to->at);
            }
    }

    // Not in the way of stores that are made together.
    [[nodiscard]] bool is_aside(const Instruction& instruction, const Instruction& store) const {
        if (waits_here(instruction))
            return false;
        const auto here = of_.find(&instruction);
        return here == of_.end() || llvm::all_of(here->second, [&](unsigned i) {
                   return accesses_[i].writes ||
                          is_own(accesses_[of_.find(&store)->second.back()].address,
                                 accesses_[i].address);
               });
    }

    static bool waits_here(const Instruction& instruction) {
        const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        return call && call->getCalledFunction() && is_wait(*call->getCalledFunction());
    }

    llvm::SmallPtrSet<const Instruction*, 16> read_later, read_before;

  private:
    struct Access {
        const Instruction* at = nullptr;
        bool writes = false;
        const Value* variable = nullptr;
        Sum address;
        std::int64_t bytes = 0;
    };

    void note(const Instruction& at, const Value* pointer, bool writes, std::uint64_t bytes) {
        const auto* variable = shared_variable(pointer, arena_);
        if (!variable)
            return;
        of_[&at].push_back(unsigned(accesses_.size()));
        accesses_.push_back(
            {&at, writes, variable, address_of(pointer, arena_, data_), std::int64_t(bytes)});
    }

    // The accesses to the same variable that a thread comes to behind `from`, nobody met between,
    // not in the blocks that count as `seen`.
    llvm::SmallVector<const Access*, 8> behind(const Access& from,
                                               llvm::SmallPtrSet<const BasicBlock*, 32> seen = {}) {
        llvm::SmallVector<const Access*, 8> found;
        llvm::SmallVector<const Instruction*, 16> open = {from.at->getNextNode()};
        while (!open.empty()) {
            const auto* at = open.pop_back_val();
            const auto* block = at->getParent();
            for (; at && !waits_here(*at); at = at->getNextNode()) {
                if (steps_left_ == 0)
                    return {};
                --steps_left_;
                if (const auto here = of_.find(at); here != of_.end())
                    for (const unsigned i : here->second)
                        if (accesses_[i].variable == from.variable)
                            found.push_back(&accesses_[i]);
            }
            if (!at)
                for (const auto* next : llvm::successors(block))
                    if (seen.insert(next).second)
                        open.push_back(&*next->begin());
        }
        return found;
    }

    // What of an address is the thread's, and the least distance between two threads there.
    std::int64_t split(const Sum& address, Sum& own, Sum& common) const {
        std::int64_t least = 0;
        common.number = address.number;
        for (const auto& [value, times] : address.parts)
            if (threads_.contains(const_cast<Value*>(value))) {
                own.add(value, times);
                least = least == 0 ? std::abs(times) : std::min(least, std::abs(times));
            } else {
                common.add(value, times);
            }
        return least;
    }

    [[nodiscard]] bool is_own(const Sum& one, const Sum& other) const {
        Sum own, common, difference = other;
        const auto least = split(one, own, common);
        difference.add(one, -1);
        return difference.parts.empty() && std::abs(difference.number) < least;
    }

    // Of a neighbour that may be as many lanes away as a warp has. Threads that lie `least` bytes
    // apart may have several values there: only the same one counts.
    [[nodiscard]] bool is_neighbours(const Access& store, const Access& load) const {
        Sum own, common, load_own, load_common;
        const auto least = split(store.address, own, common);
        if (least == 0)
            return false;
        split(load.address, load_own, load_common);
        Sum by = load_own; // what the two differ by
        by.add(own, -1);
        Sum rest = load_common;
        rest.add(common, -1);
        const std::int64_t within = (rest.number % least + least) % least;
        if (std::abs(rest.number) >= warp_lanes * least ||
            (within >= store.bytes && within + load.bytes <= least))
            return false;
        if (by.parts.empty() && rest.parts.empty())
            return std::abs(rest.number) >= least;
        if (by.parts.empty() && rest.parts.size() == 1) {
            const auto& [counter, times] = rest.parts.front();
            return times % least == 0 && is_distance(counter, warp_lanes * least / std::abs(times));
        }
        if (by.parts.size() != 2 || !rest.parts.empty())
            return false;
        for (unsigned i = 0; i < 2; ++i) { // t ^ 8 instead of t
            const auto& [mixed, times] = by.parts[i];
            const auto* mix = llvm::dyn_cast<llvm::BinaryOperator>(mixed);
            if (!mix || mix->getOpcode() != Instruction::Xor || by.parts[1 - i].second != -times)
                continue;
            for (unsigned side = 0; side < 2; ++side) {
                Sum plain;
                take_apart(mix->getOperand(side), 1, plain);
                if (plain.parts.size() == 1 && is_same(plain.parts[0].first, by.parts[1 - i].first))
                    return is_distance(mix->getOperand(1 - side), warp_lanes);
            }
        }
        return false;
    }

    // The same threads, at other distances from each other; counters may differ.
    [[nodiscard]] bool is_turned(const Sum& load, const Sum& store) const {
        Sum own, common, store_own, rest;
        split(load, own, common);
        split(store, store_own, rest);
        rest.add(common, -1);
        return own.parts.size() == store_own.parts.size() &&
               llvm::all_of(
                   rest.parts,
                   [](const auto& part) { return llvm::isa<llvm::PHINode>(part.first); }) &&
               llvm::all_of(own.parts,
                            [&](const auto& part) {
                                return llvm::any_of(store_own.parts, [&](const auto& other) {
                                    return is_same(part.first, other.first);
                                });
                            }) &&
               llvm::any_of(own.parts, [&](const auto& part) {
                   return llvm::none_of(store_own.parts, [&](const auto& other) {
                       return is_same(part.first, other.first) && part.second == other.second;
                   });
               });
    }

    const Value* arena_;
    const llvm::DataLayout& data_;
    const llvm::SmallPtrSetImpl<Value*>& threads_;
    std::vector<Access> accesses_;
    llvm::DenseMap<const Instruction*, llvm::SmallVector<unsigned, 2>> of_;
    std::uint64_t steps_left_ = 0; // so that the work grows with the kernel
};

class Words {
  public:
    explicit Words(llvm::Module& module) {
        auto& context = module.getContext();
        auto* number = llvm::Type::getInt32Ty(context);
        auto* wide = llvm::Type::getInt64Ty(context);
        gather_ = module.getOrInsertFunction("__quern_active_mask",
                                             llvm::FunctionType::get(number, {}, false));
        meet_ = module.getOrInsertFunction(
            "__quern_sync_warp",
            llvm::FunctionType::get(wide, {number, number, wide, number}, false));
        for (auto* callee : {gather_.getCallee(), meet_.getCallee()}) {
            auto* function = llvm::cast<llvm::Function>(callee);
            function->setConvergent();
            function->setDoesNotThrow();
        }
    }
    // Lanes that are here wait for each other.
    void gather(Instruction* before) const { llvm::IRBuilder<>(before).CreateCall(gather_); }
    // The whole warp, as far as it comes here.
    void meet(Instruction* before) const {
        llvm::IRBuilder<> build(before);
        build.CreateCall(
            meet_, {build.getInt32(0), build.getInt32(~0U), build.getInt64(0), build.getInt32(0)});
    }

  private:
    llvm::FunctionCallee gather_, meet_;
};

// Stores that follow each other, nothing read between that others may write, are one.
void gather_around_stores(BasicBlock& block, const Exchanges& exchanges, const Words& words) {
    llvm::SmallVector<std::pair<Instruction*, Instruction*>, 8> runs;
    for (auto& instruction : block) {
        if (exchanges.read_later.contains(&instruction) ||
            exchanges.read_before.contains(&instruction)) {
            if (!runs.empty() && runs.back().second)
                runs.back().second = &instruction;
            else
                runs.emplace_back(&instruction, &instruction);
        } else if (!runs.empty() && runs.back().second &&
                   !exchanges.is_aside(instruction, *runs.back().first)) {
            runs.emplace_back(nullptr, nullptr);
        }
    }
    for (const auto& [first, last] : runs) {
        if (!first)
            continue;
        bool before = false, later = false;
        for (auto* at = first; at != last->getNextNode(); at = at->getNextNode()) {
            before |= exchanges.read_before.contains(at);
            later |= exchanges.read_later.contains(at);
        }
        if (before)
            words.gather(first);
        if (later)
            words.gather(last->getNextNode());
    }
}

// Where those come together again who pass `block` by.
void find_meetings(BasicBlock* block, const llvm::DominatorTree& tree,
                   const llvm::PostDominatorTree& behind,
                   const llvm::SmallPtrSetImpl<Value*>& threads,
                   llvm::SmallSetVector<BasicBlock*, 8>& found) {
    for (const auto* node = tree.getNode(block); node && node->getIDom(); node = node->getIDom()) {
        auto* from = node->getIDom()->getBlock();
        const auto* branch = llvm::dyn_cast<llvm::BranchInst>(from->getTerminator());
        if (!branch || !branch->isConditional() || behind.dominates(block, from) ||
            is_common(branch->getCondition(), threads))
            continue;
        if (const auto* meeting = behind.getNode(from)->getIDom(); meeting && meeting->getBlock())
            found.insert(meeting->getBlock());
    }
}

} // namespace

void keep_exchanges_in_step(Program& program) {
    for (auto& kernel : program.kernels) {
        auto& thunk = *kernel.thunk;
        if (thunk.getArg(1)->use_empty())
            continue;
        bring_values_out(thunk);

        const auto threads = values_of_the_thread(thunk);
        if (!Exchanges(thunk, threads).found())
            continue;
        split_copies(thunk);
        Exchanges exchanges(thunk, threads);
        exchanges.look_at_all();
        const llvm::DominatorTree tree(thunk);
        const llvm::PostDominatorTree behind(thunk);
        llvm::SmallSetVector<BasicBlock*, 8> meetings;
        for (const auto* store : exchanges.read_later)
            find_meetings(const_cast<BasicBlock*>(store->getParent()), tree, behind, threads,
                          meetings);
        const Words words(*program.module);
        for (auto& block : thunk)
            gather_around_stores(block, exchanges, words);
        for (auto* block : meetings)
            words.meet(&*block->getFirstInsertionPt());
        begin_to_wait(kernel);
    }
}

} // namespace quern::host
