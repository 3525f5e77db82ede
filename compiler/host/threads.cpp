// The loops over blocks and threads around each kernel, and its HostKernelInfo. Threads along x are
// the inner loop: LLVM's vectoriser works on that one. A row whose bounds check holds throughout
// runs a copy without the check. Where threads know their number in the grid alone, neighbours
// along x are one long row.
#include "compiler/host/guard.h"
#include "compiler/host/own_atomics.h"
#include "compiler/host/passes.h"
#include "compiler/host/region_ends.h"
#include "compiler/host/regions.h"
#include "compiler/host/simplify.h"
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/IPO/DeadArgumentElimination.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <optional>

namespace quern::host {
namespace {

using llvm::BasicBlock;
using llvm::Function;
using llvm::Value;

bool reads_thread(const Function& thunk) {
    for (unsigned axis = 0; axis < 3; ++axis)
        if (!thunk.getArg(thread_at + axis)->use_empty())
            return true;
    return false;
}

// How many of blockIdx's components the kernel reads, as x, xy or xyz.
unsigned block_axes(const Function& thunk) {
    for (unsigned axes = 3; axes > 0; --axes)
        if (!thunk.getArg(block_at + axes - 1)->use_empty())
            return axes;
    return 0;
}

bool may_vectorise(Function& body) {
    for (auto& instruction : llvm::instructions(body)) {
        if (instruction.isAtomic())
            return false;
        if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
            if (!llvm::isa<llvm::IntrinsicInst>(call) && !call->onlyReadsMemory())
                return false;
    }
    return true;
}

class Runner {
  public:
    Runner(Program& program, Kernel& kernel)
        : kernel_(kernel), context_(program.module->getContext()), build_(context_) {
        auto* pointer = build_.getPtrTy();
        auto* wide = build_.getInt64Ty();
        runner_ = Function::Create(
            llvm::FunctionType::get(build_.getVoidTy(), {pointer, pointer, wide, wide, pointer},
                                    false),
            llvm::GlobalValue::ExternalLinkage, "__quern_run_" + kernel.name, *program.module);
        for (const auto& attribute : kernel.thunk->getAttributes().getFnAttrs())
            if (attribute.isStringAttribute())
                runner_->addFnAttr(attribute);
        runner_->addFnAttr(llvm::Attribute::NoUnwind);
        for (unsigned index : {0U, 1U, 4U}) {
            runner_->addParamAttr(index, llvm::Attribute::NoAlias);
            runner_->addParamAttr(index, llvm::Attribute::NoUndef);
        }
        runner_->addParamAttr(0, llvm::Attribute::ReadOnly);
        runner_->addParamAttr(1, llvm::Attribute::ReadOnly);
        if (kernel.args_bytes)
            runner_->addDereferenceableParamAttr(1, kernel.args_bytes);
        runner_->addParamAttr(1, llvm::Attribute::getWithAlignment(context_, args_align));
        runner_->addDereferenceableParamAttr(0, sizeof(HostLaunch));
        runner_->addParamAttr(4, llvm::Attribute::get(context_, arena_mark));
    }

    // Without a simplifier the threads run as plain calls.
    void emit(Simplifier* simplifier) {
        auto& thunk = *kernel_.thunk;
        thunk.setLinkage(llvm::GlobalValue::InternalLinkage);
        if (simplifier) {
            simplifier->run(thunk);
            lift_divisions(thunk);
        }
        values_ = {runner_->getArg(1), runner_->getArg(4)};
        values_.resize(grid_size_at + 3, build_.getInt32(0));

        auto* entry = block("entry");
        auto* blocks = block("blocks");
        auto* exit = block("exit");
        build_.SetInsertPoint(entry);
        for (unsigned axis = 0; axis < 3; ++axis) {
            value(grid_size_at, axis) = field(axis);
            value(block_size_at, axis) = field(3 + axis);
        }
        const unsigned axes = block_axes(thunk);
        auto* first = runner_->getArg(2);
        Value* starts[3] = {};
        Value* rest = first;
        for (unsigned axis = 0; axis < axes; ++axis) {
            auto* size = wide(value(grid_size_at, axis));
            starts[axis] = narrow(axis < 2 ? build_.CreateURem(rest, size) : rest);
            if (axis + 1 < axes)
                rest = build_.CreateUDiv(rest, size);
        }
        build_.CreateCondBr(build_.CreateICmpULT(first, runner_->getArg(3)), blocks, exit);

        build_.SetInsertPoint(blocks);
        auto* number = build_.CreatePHI(build_.getInt64Ty(), 2, "block");
        number->addIncoming(first, entry);
        llvm::PHINode* place[3] = {};
        for (unsigned axis = 0; axis < axes; ++axis) {
            place[axis] = build_.CreatePHI(build_.getInt32Ty(), 2);
            place[axis]->addIncoming(starts[axis], entry);
            value(block_at, axis) = place[axis];
        }
        Value* done = build_.getInt64(1); // blocks
        if (simplifier)
            done = emit_rows(*simplifier, number);
        else
            emit_plain_threads();

        auto* next = build_.CreateAdd(number, done, "", true, true);
        number->addIncoming(next, build_.GetInsertBlock());
        Value* carry = narrow(done);
        for (unsigned axis = 0; axis < axes; ++axis) {
            Value* after = build_.CreateAdd(place[axis], carry);
            if (axis < 2) {
                auto* end = build_.CreateICmpEQ(after, value(grid_size_at, axis));
                carry = build_.CreateZExt(end, build_.getInt32Ty());
                after = build_.CreateSelect(end, build_.getInt32(0), after);
            }
            place[axis]->addIncoming(after, build_.GetInsertBlock());
        }
        build_.CreateCondBr(build_.CreateICmpULT(next, runner_->getArg(3)), blocks, exit)
            ->setMetadata(llvm::LLVMContext::MD_loop, loop({}));
        build_.SetInsertPoint(exit);
        build_.CreateRetVoid();
    }

  private:
    // Every thread does the same: a plain call, compiled as straight code. Generated kernels come
    // this way.
    void emit_plain_threads() {
        auto* count = build_.CreateNUWMul(
            build_.CreateNUWMul(wide(value(block_size_at, 0)), wide(value(block_size_at, 1))),
            wide(value(block_size_at, 2)));
        auto* before = build_.GetInsertBlock();
        auto *body = block("thread"), *after = block("threads_done");
        build_.CreateBr(body);
        build_.SetInsertPoint(body);
        auto* index = build_.CreatePHI(build_.getInt64Ty(), 2);
        index->addIncoming(build_.getInt64(0), before);
        kernel_.thunk->addFnAttr(llvm::Attribute::NoInline);
        build_.CreateCall(kernel_.thunk, values_);
        auto* next = build_.CreateAdd(index, build_.getInt64(1), "", true, true);
        index->addIncoming(next, body);
        build_.CreateCondBr(build_.CreateICmpULT(next, count), body, after);
        build_.SetInsertPoint(after);
    }

    // The threads of the block `number`, or of it and of its neighbours: how many blocks that is.
    Value* emit_rows(Simplifier& simplifier, Value* number) {
        auto& thunk = *kernel_.thunk;
        auto* thread_x = thunk.getArg(thread_at);
        Function* quick = nullptr;
        RowFacts facts;
        Value* blocks = build_.getInt64(1);
        if (!simplifier.has_loop(thunk) && may_vectorise(thunk)) {
            facts = find_row_facts(thunk, thread_x);
            quick = copy_without_guard(thunk, facts);
            if (!thunk.getArg(block_at)->use_empty() && thunk.getArg(1)->use_empty() &&
                counts_through_blocks(thunk))
                blocks = emit_neighbours(number);
        }
        thunk.addFnAttr(llvm::Attribute::NoInline);

        auto* count = build_.CreateNUWMul(narrow(blocks), value(block_size_at, 0));
        auto* before = build_.GetInsertBlock();
        auto *rows = block("row"), *row_done = block("row_done"), *after = block("rows_done");
        build_.CreateBr(rows);
        build_.SetInsertPoint(rows);
        auto* y = build_.CreatePHI(build_.getInt32Ty(), 2, "thread.y");
        auto* z = build_.CreatePHI(build_.getInt32Ty(), 2, "thread.z");
        y->addIncoming(build_.getInt32(0), before);
        z->addIncoming(build_.getInt32(0), before);
        value(thread_at, 1) = y;
        value(thread_at, 2) = z;
        if (quick)
            emit_quick_row(*quick, facts, count, row_done);
        else
            emit_row(thunk, build_.getInt32(0), count, row_done, false);

        build_.SetInsertPoint(row_done);
        auto* next_y = build_.CreateAdd(y, build_.getInt32(1), "", true, true);
        auto* end_y = build_.CreateICmpEQ(next_y, value(block_size_at, 1));
        auto* next_z =
            build_.CreateAdd(z, build_.CreateZExt(end_y, build_.getInt32Ty()), "", true, true);
        y->addIncoming(build_.CreateSelect(end_y, build_.getInt32(0), next_y), row_done);
        z->addIncoming(next_z, row_done);
        build_.CreateCondBr(build_.CreateICmpEQ(next_z, value(block_size_at, 2)), after, rows)
            ->setMetadata(llvm::LLVMContext::MD_loop, loop({}));
        build_.SetInsertPoint(after);
        return blocks;
    }

    // How many blocks from `number` on lie in its row of the grid, of those that are asked for.
    Value* emit_neighbours(Value* number) {
        auto* to_edge = build_.CreateNUWSub(wide(value(grid_size_at, 0)), wide(value(block_at, 0)));
        auto* to_end = build_.CreateNUWSub(runner_->getArg(3), number);
        auto* fit =
            wide(build_.CreateUDiv(build_.getInt32(host_longest_row), value(block_size_at, 0)));
        const auto least = [&](Value* a, Value* b) {
            return build_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, a, b);
        };
        return least(least(to_edge, to_end), fit);
    }

    // All of the row at once if its question is answered so, else piece by piece, of which each is
    // as long as a block.
    void emit_quick_row(Function& quick, const RowFacts& facts, Value* count, BasicBlock* done) {
        auto* before = build_.GetInsertBlock();
        auto *ask = block("ask"), *full = block("full_row"), *no = block("not_all"),
             *part = block("part_row"), *next_piece = block("next_piece");
        build_.CreateBr(ask);
        build_.SetInsertPoint(ask);
        auto* from = build_.CreatePHI(build_.getInt32Ty(), 3, "from");
        auto* to = build_.CreatePHI(build_.getInt32Ty(), 3, "to");
        from->addIncoming(build_.getInt32(0), before);
        to->addIncoming(count, before);
        auto* last = build_.CreateSub(to, build_.getInt32(1), "", true, true);
        auto* sure =
            emit_row_question(build_, facts, values_, kernel_.thunk->getArg(thread_at), from, last)
                .sure;
        build_.CreateCondBr(sure, full, no);

        build_.SetInsertPoint(no);
        auto* shorter = build_.CreateNUWAdd(from, value(block_size_at, 0), "shorter");
        from->addIncoming(from, no);
        to->addIncoming(shorter, no);
        build_.CreateCondBr(build_.CreateICmpULT(shorter, to), ask, part);

        build_.SetInsertPoint(full);
        emit_row(quick, from, to, next_piece, true);
        build_.SetInsertPoint(part);
        emit_row(*kernel_.thunk, from, to, next_piece, false);

        build_.SetInsertPoint(next_piece);
        auto* next_to = build_.CreateNUWAdd(to, value(block_size_at, 0));
        from->addIncoming(to, next_piece);
        to->addIncoming(next_to, next_piece);
        build_.CreateCondBr(build_.CreateICmpULT(to, count), ask, done)
            ->setMetadata(llvm::LLVMContext::MD_loop, loop({}));
    }

    void emit_row(Function& body, Value* first, Value* end, BasicBlock* done, bool parallel) {
        auto* before = build_.GetInsertBlock();
        auto* threads = block("thread");
        build_.CreateBr(threads);
        build_.SetInsertPoint(threads);
        auto* x = build_.CreatePHI(build_.getInt32Ty(), 2, "thread.x");
        x->addIncoming(first, before);
        value(thread_at, 0) = x;
        build_.CreateCall(&body, values_);
        auto* next = build_.CreateAdd(x, build_.getInt32(1), "", true, true);
        x->addIncoming(next, threads);
        auto* jump = build_.CreateCondBr(build_.CreateICmpSLT(next, end), threads, done);
        llvm::SmallVector<llvm::Metadata*, 2> facts;
        if (parallel)
            facts.push_back(llvm::MDNode::get(
                context_, {llvm::MDString::get(context_, "llvm.loop.parallel_accesses"), group_}));
        jump->setMetadata(llvm::LLVMContext::MD_loop, loop(facts));
    }

    Function* copy_without_guard(Function& thunk, const RowFacts& facts) {
        llvm::ValueToValueMapTy map;
        auto* copy = llvm::CloneFunction(&thunk, map);
        copy->setName(thunk.getName() + ".row");
        copy->addFnAttr(llvm::Attribute::AlwaysInline);
        for (auto* sum : facts.sums)
            if (auto* same = llvm::dyn_cast<llvm::BinaryOperator>(static_cast<Value*>(map[sum]));
                same && llvm::isa<llvm::OverflowingBinaryOperator>(same)) {
                same->setHasNoSignedWrap();
                if (stays_unsigned(*sum))
                    same->setHasNoUnsignedWrap();
            }
        if (facts.guard)
            llvm::cast<llvm::BranchInst>(static_cast<Value*>(map[facts.guard]))
                ->setCondition(build_.getInt1(facts.work_when));
        group_ = llvm::MDNode::getDistinct(context_, {});
        mark_parallel(*copy, group_);
        return copy;
    }

    llvm::MDNode* loop(llvm::ArrayRef<llvm::Metadata*> facts) {
        llvm::SmallVector<llvm::Metadata*, 4> parts = {nullptr};
        parts.append(facts.begin(), facts.end());
        parts.push_back(
            llvm::MDNode::get(context_, llvm::MDString::get(context_, "llvm.loop.mustprogress")));
        auto* node = llvm::MDNode::getDistinct(context_, parts);
        node->replaceOperandWith(0, node);
        return node;
    }

    Value* field(unsigned index) {
        auto* load = build_.CreateAlignedLoad(
            build_.getInt32Ty(),
            build_.CreateConstInBoundsGEP1_64(build_.getInt32Ty(), runner_->getArg(0), index),
            llvm::Align(4));
        load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
        load->setMetadata(llvm::LLVMContext::MD_noundef, llvm::MDNode::get(context_, {}));
        const unsigned limit = index >= 3 ? 1025 : 0x7fffffff; // a block has at most 1024 threads
        load->setMetadata(
            llvm::LLVMContext::MD_range,
            llvm::MDNode::get(context_, {llvm::ConstantAsMetadata::get(build_.getInt32(1)),
                                         llvm::ConstantAsMetadata::get(build_.getInt32(limit))}));
        return load;
    }

    Value*& value(unsigned what, unsigned axis) { return values_[what + axis]; }
    Value* wide(Value* x) { return build_.CreateZExt(x, build_.getInt64Ty()); }
    Value* narrow(Value* x) { return build_.CreateTrunc(x, build_.getInt32Ty()); }
    BasicBlock* block(const char* name) { return BasicBlock::Create(context_, name, runner_); }

    Kernel& kernel_;
    llvm::LLVMContext& context_;
    llvm::IRBuilder<> build_;
    Function* runner_;
    llvm::SmallVector<Value*, 16> values_;
    llvm::MDNode* group_ = nullptr;
};

void emit_info(llvm::Module& module, const Kernel& kernel) {
    std::vector<std::uint32_t> words = {
        host_abi_version,   static_cast<std::uint32_t>(kernel.params.size()),
        kernel.args_bytes,  kernel.static_shared_bytes,
        kernel.max_threads, kernel.waits ? host_kernel_waits : 0};
    for (const auto& param : kernel.params)
        words.insert(words.end(), {param.offset_bytes, param.size_bytes});
    if (kernel.params.empty())
        words.insert(words.end(), {0, 0}); // HostKernelInfo is never shorter than its declaration
    auto* data = llvm::ConstantDataArray::get(module.getContext(), words);
    auto* info =
        new llvm::GlobalVariable(module, data->getType(), true, llvm::GlobalValue::ExternalLinkage,
                                 data, "__quern_info_" + kernel.name);
    info->setAlignment(llvm::Align(8));
}

} // namespace

void make_row_runners(Program& program, llvm::TargetMachine& machine) {
    std::optional<Simplifier> simplifier;
    for (auto& kernel : program.kernels) {
        kernel.by_thread = reads_thread(*kernel.thunk);
        if (kernel.waits ? !program.cut_waiting || program.level == Level::plain
                         : !kernel.by_thread)
            continue;
        if (program.level == Level::best && program.budget.is_spent())
            return; // what is made here will not be used
        if (!simplifier)
            simplifier.emplace(machine);
        const auto regions = program.level == Level::best
                                 ? cut_in_regions(kernel, *simplifier, program.budget)
                                 : Regions();
        kernel.why_not_cut = regions.why_not;
        if (!regions.list.empty()) {
            kernel.in_regions = true;
            kernel.regions = static_cast<std::uint32_t>(regions.list.size());
            make_region_runner(*program.module, kernel, regions);
        } else if (!kernel.waits) {
            Runner(program, kernel).emit(&*simplifier);
        }
    }
}

void make_plain_runners(Program& program) {
    for (auto& kernel : program.kernels) {
        if (kernel.in_regions)
            kernel.waits = false; // for its host driver it is a kernel like others
        else if (kernel.waits)
            make_fiber_runner(*program.module, kernel);
        else if (!kernel.by_thread)
            Runner(program, kernel).emit(nullptr);
        emit_info(*program.module, kernel);
    }
    llvm::ModuleAnalysisManager none;
    llvm::DeadArgumentEliminationPass().run(*program.module, none); // thunks take 14, few read them
}

} // namespace quern::host
