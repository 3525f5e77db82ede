// Loops over the threads of a block around each region. Threads of a row are the inner loop: LLVM's
// vectoriser works on that one.
#include "compiler/host/own_atomics.h"
#include "compiler/host/passes.h"
#include "compiler/host/regions.h"
#include "compiler/host/row_values.h"
#include "compiler/host/streams.h"
#include <llvm/IR/IRBuilder.h>
#include <optional>

namespace quern::host {
namespace {

using llvm::BasicBlock;
using llvm::Value;

class RegionRunner {
  public:
    RegionRunner(llvm::Module& module, const Kernel& kernel, const Region& region, unsigned number,
                 bool several_blocks, bool keeps_nothing)
        : region_(region), several_blocks_(several_blocks), keeps_nothing_(keeps_nothing),
          context_(module.getContext()), build_(context_) {
        auto* pointer = build_.getPtrTy();
        runner_ = llvm::Function::Create(
            llvm::FunctionType::get(build_.getInt32Ty(), {pointer, pointer}, false),
            llvm::GlobalValue::InternalLinkage,
            "__quern_region_" + llvm::Twine(number) + "_" + kernel.name, module);
        for (const auto& attribute : region.body->getAttributes().getFnAttrs())
            if (attribute.isStringAttribute())
                runner_->addFnAttr(attribute);
        runner_->addFnAttr(llvm::Attribute::NoUnwind);
        for (unsigned index : {0U, 1U}) {
            runner_->addParamAttr(index, llvm::Attribute::NoAlias);
            runner_->addParamAttr(index, llvm::Attribute::ReadOnly);
            runner_->addParamAttr(index, llvm::Attribute::NoUndef);
        }
        runner_->addDereferenceableParamAttr(0, sizeof(HostRegionCall));
        runner_->addParamAttr(0, llvm::Attribute::get(context_, own_memory_mark));
        if (kernel.args_bytes)
            runner_->addDereferenceableParamAttr(1, kernel.args_bytes);
        runner_->addParamAttr(1, llvm::Attribute::getWithAlignment(context_, args_align));
        group_ = llvm::MDNode::getDistinct(context_, {});
    }

    llvm::Function* emit() {
        mark_parallel(*region_.body, group_);
        build_.SetInsertPoint(block("entry"));
        read_call();
        ends_ = find_ends(*region_.body);
        if (!region_.round)
            fork_ = find_fork(*region_.body, several_blocks_);
        if (fork_ && fork_->row)
            fork_.reset();
        if (region_.round && !region_.round->fork.row)
            fork_ = region_.round->fork;
        if (ends_.size() > 1 && !fork_)
            for ([[maybe_unused]] auto end : ends_) {
                reached_.push_back(build_.CreateAlloca(build_.getInt1Ty()));
                build_.CreateStore(build_.getFalse(), reached_.back());
            }
        if (region_.round)
            emit_round(*region_.round);
        if (!region_.round || region_.round->fork.row) {
            over_rows([&](Value* start) { emit_row(start); });
            emit_ends(region_.agreed, reached());
        }
        return runner_;
    }

  private:
    Value*& position(unsigned what, unsigned axis) { return values_[what + axis]; }
    BasicBlock* block(const char* name) { return BasicBlock::Create(context_, name, runner_); }

    llvm::LoadInst* field(llvm::Type* type, std::size_t offset) {
        auto* load = build_.CreateLoad(type, build_.CreateConstInBoundsGEP1_64(
                                                 build_.getInt8Ty(), runner_->getArg(0), offset));
        load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
        load->setMetadata(llvm::LLVMContext::MD_noundef, llvm::MDNode::get(context_, {}));
        return load;
    }
    llvm::LoadInst* pointer_field(std::size_t offset) { return field(build_.getPtrTy(), offset); }
    Value* word_field(std::size_t offset, unsigned limit, unsigned least) {
        auto* load = field(build_.getInt32Ty(), offset);
        load->setMetadata(
            llvm::LLVMContext::MD_range,
            llvm::MDNode::get(context_, {llvm::ConstantAsMetadata::get(build_.getInt32(least)),
                                         llvm::ConstantAsMetadata::get(build_.getInt32(limit))}));
        return load;
    }

    void read_call() {
        auto* arena = pointer_field(offsetof(HostRegionCall, shared));
        arena->setMetadata(arena_mark, llvm::MDNode::get(context_, {}));
        values_ = {runner_->getArg(1), arena};
        values_.resize(region_arguments);
        for (unsigned axis = 0; axis < 3; ++axis) {
            position(block_at, axis) =
                word_field(offsetof(HostRegionCall, block) + 4 * axis, 0x7fffffff, 0);
            position(block_size_at, axis) =
                word_field(offsetof(HostRegionCall, block_size) + 4 * axis, 1025, 1);
            position(grid_size_at, axis) =
                word_field(offsetof(HostRegionCall, grid_size) + 4 * axis, 0x7fffffff, 1);
        }
        values_[frame_at] = pointer_field(offsetof(HostRegionCall, frame));
        values_[kept_at] = pointer_field(offsetof(HostRegionCall, kept));
        values_[keep_at] = pointer_field(offsetof(HostRegionCall, keep));
        values_[call_at] = runner_->getArg(0);
        states_ = pointer_field(offsetof(HostRegionCall, states));
        first_row_ = word_field(offsetof(HostRegionCall, first_row), host_most_threads, 0);
        last_row_ = word_field(offsetof(HostRegionCall, last_row), host_most_threads + 1, 1);
        from_ = word_field(offsetof(HostRegionCall, from), host_most_threads, 0);
        to_ = word_field(offsetof(HostRegionCall, to),
                         (keeps_nothing_ ? host_longest_row : host_most_threads) + 1, 1);
        first_y_ = build_.CreateURem(first_row_, position(block_size_at, 1));
        first_z_ = build_.CreateUDiv(first_row_, position(block_size_at, 1));
        first_block_ = position(block_at, 0);
        if (several_blocks_) {
            first_block_ = build_.CreateAdd(
                first_block_, build_.CreateUDiv(first_z_, position(block_size_at, 2)));
            first_z_ = build_.CreateURem(first_z_, position(block_size_at, 2));
        }
    }

    // What `row` emits, for each row of the stretch; it gets the number of the row's first thread.
    template <class Row> void over_rows(Row row_of) {
        auto *before = build_.GetInsertBlock(), *rows = block("row"), *row_done = block("row_done"),
             *after = block("rows_done");
        build_.CreateBr(rows);
        build_.SetInsertPoint(rows);
        const auto counter = [&](Value* first, const char* name) {
            auto* phi = build_.CreatePHI(build_.getInt32Ty(), 2, name);
            phi->addIncoming(first, before);
            return phi;
        };
        auto *row = counter(first_row_, "row"), *y = counter(first_y_, "thread.y"),
             *z = counter(first_z_, "thread.z"),
             *in_block = several_blocks_ ? counter(first_block_, "block.x") : nullptr;
        position(thread_at, 1) = y;
        position(thread_at, 2) = z;
        if (in_block)
            position(block_at, 0) = in_block;
        row_of(build_.CreateMul(row, position(block_size_at, 0), "", true, true));
        build_.CreateBr(row_done);

        build_.SetInsertPoint(row_done);
        const auto step = [&](Value* old, Value* by) { // which is 0 or 1
            return build_.CreateAdd(old, build_.CreateZExt(by, build_.getInt32Ty()), "", true,
                                    true);
        };
        const auto turn = [&](llvm::PHINode* phi, Value* next, unsigned axis) {
            auto* wraps = build_.CreateICmpEQ(next, position(block_size_at, axis));
            phi->addIncoming(build_.CreateSelect(wraps, build_.getInt32(0), next), row_done);
            return wraps;
        };
        auto* next_row = step(row, build_.getTrue());
        row->addIncoming(next_row, row_done);
        auto* y_wraps = turn(y, step(y, build_.getTrue()), 1);
        auto* next_z = step(z, y_wraps);
        if (in_block)
            in_block->addIncoming(step(in_block, turn(z, next_z, 2)), row_done);
        else
            z->addIncoming(next_z, row_done);
        build_.CreateCondBr(build_.CreateICmpULT(next_row, last_row_), rows, after);
        build_.SetInsertPoint(after);
    }

    void emit_row(Value* start) {
        const auto& idle = region_.idle;
        if (!idle)
            return emit_threads(*region_.body, start, from_, to_, Threads::some);
        const auto busy =
            emit_busy(build_, *idle, values_, region_.body->getArg(thread_at), from_, to_);
        if (!idle->does_nothing) {
            mark_parallel(*idle->body, group_);
            emit_threads(*idle->body, start, from_, busy.first, Threads::maybe_none);
        }
        emit_threads(*region_.body, start, busy.first, busy.last, Threads::maybe_none);
        if (!idle->does_nothing)
            emit_threads(*idle->body, start, busy.last, to_, Threads::maybe_none);
    }

    // As long as all threads take one way: that, and round after round where it leads back here.
    // Goes on where they may not.
    void emit_round(const Round& round) {
        auto *before = build_.GetInsertBlock(), *again = block("again");
        build_.CreateBr(again);
        build_.SetInsertPoint(again);
        llvm::SmallVector<llvm::PHINode*, 4> kept;
        for (const auto& value : round.kept) {
            kept.push_back(build_.CreatePHI(value.type, 2, "kept"));
            values_.push_back(kept.back());
        }
        if (round.goes_on)
            values_.push_back(build_.getFalse());
        BasicBlock* apart = nullptr;
        Value* decided = nullptr;
        if (round.fork.row) {
            apart = block("apart");
            auto* together = block("together");
            const auto answer = emit_question(*round.fork.row);
            build_.CreateCondBr(answer.sure, together, apart);
            build_.SetInsertPoint(together);
            decided = answer.fork;
        } else {
            decided = copy(round.fork.condition);
        }
        if (round.goes_on) {
            values_.back() = decided;
            auto& body = round.sure ? *round.sure : *round.body;
            if (round.sure)
                mark_parallel(*round.sure, group_);
            over_rows(
                [&](Value* start) { emit_threads(body, start, from_, to_, Threads::together); });
            emit_next_round(round, decided, again, kept);
        }
        emit_ends(round.agreed, reached_by(round.fork, decided));
        llvm::IRBuilder<> start(before->getTerminator());
        for (std::size_t i = 0; i < kept.size(); ++i)
            kept[i]->addIncoming(start.CreateAlignedLoad(
                                     kept[i]->getType(),
                                     start.CreateConstInBoundsGEP1_64(
                                         start.getInt8Ty(), values_[kept_at], round.kept[i].offset),
                                     round.kept[i].align),
                                 before);
        if (!apart)
            return;
        build_.SetInsertPoint(apart);
        if (keeps_nothing_)
            emit_way_out(round, kept);
        if (round.goes_on)
            values_.back() = build_.getFalse();
        round_apart_ = true;
    }

    // Of more threads than have states: those come again in parts.
    void emit_way_out(const Round& round, llvm::ArrayRef<llvm::PHINode*> kept) {
        auto *many = block("too_many"), *few = block("few");
        build_.CreateCondBr(build_.CreateICmpUGT(to_, build_.getInt32(host_most_threads)), many,
                            few);
        build_.SetInsertPoint(many);
        for (std::size_t i = 0; i < kept.size(); ++i)
            build_.CreateAlignedStore(kept[i],
                                      build_.CreateConstInBoundsGEP1_64(build_.getInt8Ty(),
                                                                        values_[keep_at],
                                                                        round.kept[i].offset),
                                      round.kept[i].align);
        build_.CreateRet(build_.getInt32(host_see_states));
        build_.SetInsertPoint(few);
    }

    // Whether the threads of all rows answer alike, and what.
    RowAnswer emit_question(const RowFacts& facts) {
        auto *before = build_.GetInsertBlock(), *in_row = before;
        Value *some_unsure = nullptr, *some_yes = nullptr, *some_no = nullptr;
        auto* last = build_.CreateSub(to_, build_.getInt32(1), "", true, true);
        llvm::SmallVector<llvm::PHINode*, 3> so_far;
        over_rows([&](Value*) {
            const auto answer = emit_row_question(build_, facts, values_,
                                                  region_.body->getArg(thread_at), from_, last);
            Value* parts[] = {build_.CreateNot(answer.sure), answer.fork,
                              build_.CreateNot(answer.fork)};
            in_row = build_.GetInsertBlock();
            llvm::IRBuilder<> phis(in_row, in_row->begin());
            for (auto*& part : parts) {
                auto* phi = phis.CreatePHI(build_.getInt1Ty(), 2);
                phi->addIncoming(build_.getFalse(), before);
                so_far.push_back(phi);
                part = build_.CreateOr(phi, part);
            }
            some_unsure = parts[0], some_yes = parts[1], some_no = parts[2];
        });
        auto* end = in_row->getSingleSuccessor();
        so_far[0]->addIncoming(some_unsure, end);
        so_far[1]->addIncoming(some_yes, end);
        so_far[2]->addIncoming(some_no, end);
        end->getTerminator()->setMetadata(llvm::LLVMContext::MD_loop, plain_loop_facts());
        auto* alike = build_.CreateNot(build_.CreateAnd(some_yes, some_no));
        return {build_.CreateAnd(build_.CreateNot(some_unsure), alike), some_yes};
    }

    void emit_next_round(const Round& round, Value* decided, BasicBlock* again,
                         llvm::ArrayRef<llvm::PHINode*> kept) {
        auto *leave = block("leave"), *next = block("next_round");
        auto* alone = build_.CreateICmpNE(word_field(offsetof(HostRegionCall, alone), 2, 0),
                                          build_.getInt32(0));
        auto* back = round.fork.then == round.number ? decided : build_.CreateNot(decided);
        build_.CreateCondBr(build_.CreateAnd(alone, back), next, leave);
        build_.SetInsertPoint(next);
        for (std::size_t i = 0; i < kept.size(); ++i)
            for (const auto& agreed : round.agreed)
                if (agreed.end == round.number && agreed.offset == round.kept[i].offset)
                    kept[i]->addIncoming(copy(agreed.value), next);
        build_.CreateBr(again);
        build_.SetInsertPoint(leave);
    }

    Value* copy(Value* value) { // the same for all threads
        return RowCopier(build_, values_, region_.body->getArg(thread_at), nullptr).copy(value);
    }

    enum class Threads : std::uint8_t { some, maybe_none, together }; // who take one way

    // Threads [from, to) of the row whose first thread has the number `start`.
    void emit_threads(llvm::Function& body, Value* start, Value* from, Value* to, Threads who) {
        auto *before = build_.GetInsertBlock(), *threads = block("thread"),
             *after = block("threads_done");
        if (who == Threads::maybe_none)
            build_.CreateCondBr(build_.CreateICmpULT(from, to), threads, after);
        else
            build_.CreateBr(threads);
        build_.SetInsertPoint(threads);
        auto* x = build_.CreatePHI(build_.getInt32Ty(), 2, "thread.x");
        x->addIncoming(from, before);
        position(thread_at, 0) = x;
        auto* number = build_.CreateAdd(start, x, "thread", true, true);
        values_[number_at] = number;
        auto* state = build_.CreateTrunc(build_.CreateCall(&body, values_), build_.getInt8Ty());
        if (who != Threads::together)
            note_state(state, number);
        auto* next = build_.CreateAdd(x, build_.getInt32(1), "", true, true);
        x->addIncoming(next, threads);
        build_.CreateCondBr(build_.CreateICmpULT(next, to), threads, after)
            ->setMetadata(llvm::LLVMContext::MD_loop,
                          round_apart_ ? plain_loop_facts() : loop_facts());
        build_.SetInsertPoint(after);
    }

    void note_state(Value* state, Value* number) {
        for (std::size_t i = 0; i < reached_.size(); ++i)
            build_.CreateStore(
                build_.CreateOr(build_.CreateLoad(build_.getInt1Ty(), reached_[i]),
                                build_.CreateICmpEQ(state, build_.getInt8(ends_[i]))),
                reached_[i]);
        if (ends_.size() == 1 || fork_)
            return;
        auto* place = build_.CreateInBoundsGEP(build_.getInt8Ty(), states_,
                                               build_.CreateZExt(number, build_.getInt64Ty()));
        build_.CreateStore(state, place)->setMetadata(llvm::LLVMContext::MD_access_group, group_);
    }

    // By end, whether any thread has come there; nothing when there is but one.
    using Reached = llvm::SmallVector<Value*, 4>;
    Reached reached() {
        Reached values;
        for (auto* variable : reached_)
            values.push_back(build_.CreateLoad(build_.getInt1Ty(), variable));
        return fork_ ? reached_by(*fork_, copy(fork_->condition)) : values;
    }
    Reached reached_by(const Fork& fork, Value* holds) {
        Reached values;
        for (auto end : ends_)
            values.push_back(end == fork.then ? holds : build_.CreateNot(holds));
        return values;
    }

    // Writes what the threads agreed on, and returns where they all are.
    void emit_ends(llvm::ArrayRef<Agreed> all_agreed, const Reached& reached) {
        for (std::size_t i = 0; i < ends_.size(); ++i) {
            BasicBlock* after = nullptr;
            for (const auto& agreed : all_agreed) {
                if (agreed.end != ends_[i])
                    continue;
                if (!after && !reached.empty()) {
                    auto* here = block("agreed");
                    after = block("written");
                    build_.CreateCondBr(reached[i], here, after);
                    build_.SetInsertPoint(here);
                }
                build_.CreateAlignedStore(copy(agreed.value),
                                          build_.CreateConstInBoundsGEP1_64(
                                              build_.getInt8Ty(), values_[keep_at], agreed.offset),
                                          agreed.align);
            }
            if (after) {
                build_.CreateBr(after);
                build_.SetInsertPoint(after);
            }
        }
        Value* state = build_.getInt32(ends_.size() == 1 ? ends_[0] : host_see_states);
        for (std::size_t i = 0; i < reached.size(); ++i) {
            Value* others = build_.getFalse();
            for (std::size_t k = 0; k < reached.size(); ++k)
                if (k != i)
                    others = build_.CreateOr(others, reached[k]);
            state = build_.CreateSelect(others, state, build_.getInt32(ends_[i]));
        }
        build_.CreateRet(state);
    }

    llvm::MDString* text(const char* name) { return llvm::MDString::get(context_, name); }
    llvm::MDNode* number(const char* name, unsigned value) {
        return llvm::MDNode::get(
            context_, {text(name), llvm::ConstantAsMetadata::get(build_.getInt32(value))});
    }
    llvm::MDNode* facts_node(llvm::ArrayRef<llvm::Metadata*> facts) {
        llvm::SmallVector<llvm::Metadata*, 6> parts = {
            nullptr, llvm::MDNode::get(context_, text("llvm.loop.mustprogress")),
            llvm::MDNode::get(context_, text("llvm.loop.unroll.disable"))};
        parts.append(facts.begin(), facts.end());
        auto* node = llvm::MDNode::getDistinct(context_, parts);
        node->replaceOperandWith(0, node);
        return node;
    }
    llvm::MDNode* loop_facts() {
        return facts_node(
            {llvm::MDNode::get(context_, {text("llvm.loop.parallel_accesses"), group_}),
             number("llvm.loop.interleave.count", 1)});
    }
    llvm::MDNode* plain_loop_facts() { // not worth a vectoriser's time
        return facts_node({number("llvm.loop.vectorize.width", 1)});
    }

    const Region& region_;
    const bool several_blocks_; // neighbours along x, as more rows
    const bool keeps_nothing_;  // see Regions
    llvm::LLVMContext& context_;
    llvm::IRBuilder<> build_;
    llvm::Function* runner_;
    llvm::MDNode* group_;
    Value* states_ = nullptr;
    bool round_apart_ = false; // what is emitted runs where threads part, at most once a block
    Value *first_row_ = nullptr, *last_row_ = nullptr, *from_ = nullptr, *to_ = nullptr;
    Value *first_y_ = nullptr, *first_z_ = nullptr, *first_block_ = nullptr;
    Ends ends_; // where threads may come to, and
    std::optional<Fork> fork_;
    llvm::SmallVector<Value*, 4> reached_; // whether any has: variables, if there are several
    llvm::SmallVector<Value*, 20> values_;
};

} // namespace

static HostNeighbours neighbours_of(const Regions& regions) {
    if (regions.keeps_nothing)
        return HostNeighbours::any_row;
    if (regions.counts_through)
        return HostNeighbours::one_row;
    return regions.steps.several_blocks ? HostNeighbours::more_rows : HostNeighbours::apart;
}

void make_region_runner(llvm::Module& module, Kernel& kernel, const Regions& regions) {
    auto& context = module.getContext();
    llvm::IRBuilder<> build(context);
    auto* pointer = build.getPtrTy();
    auto* word = build.getInt32Ty();
    auto* wide = build.getInt64Ty();
    auto* row_type = llvm::StructType::get(context, {pointer, word, word, word, word});
    llvm::SmallVector<llvm::Constant*, 8> rows;
    for (unsigned i = 0; i < regions.list.size(); ++i) {
        const auto& region = regions.list[i];
        rows.push_back(llvm::ConstantStruct::get(
            row_type,
            {RegionRunner(module, kernel, region, i, regions.steps.several_blocks,
                          regions.keeps_nothing)
                 .emit(),
             build.getInt32(static_cast<std::uint32_t>(region.stop)), build.getInt32(region.op),
             build.getInt32(region.kept_offset), build.getInt32(region.kept_bytes)}));
    }
    auto* list_type = llvm::ArrayType::get(row_type, rows.size());
    auto* table_type =
        llvm::StructType::get(context, {word, word, word, word, word, word, list_type});
    auto* table = new llvm::GlobalVariable(
        module, table_type, true, llvm::GlobalValue::InternalLinkage,
        llvm::ConstantStruct::get(
            table_type,
            {build.getInt32(static_cast<std::uint32_t>(rows.size())),
             build.getInt32(static_cast<std::uint32_t>(regions.frame_bytes)),
             build.getInt32(regions.kept_bytes), build.getInt32(kernel.static_shared_bytes),
             build.getInt32(regions.steps.found),
             build.getInt32(static_cast<std::uint32_t>(neighbours_of(regions))),
             llvm::ConstantArray::get(list_type, rows)}),
        "__quern_regions_" + kernel.name);
    table->setAlignment(llvm::Align(8));

    auto* runner = llvm::Function::Create(
        llvm::FunctionType::get(build.getVoidTy(), {pointer, pointer, wide, wide, pointer}, false),
        llvm::GlobalValue::ExternalLinkage, "__quern_run_" + kernel.name, module);
    runner->addFnAttr(llvm::Attribute::NoUnwind);
    build.SetInsertPoint(BasicBlock::Create(context, "entry", runner));
    auto hook = module.getOrInsertFunction(
        "__quern_run_regions",
        llvm::FunctionType::get(build.getVoidTy(), {pointer, pointer, wide, wide, pointer, pointer},
                                false));
    llvm::SmallVector<Value*, 8> values;
    for (auto& argument : runner->args())
        values.push_back(&argument);
    values.push_back(table);
    build.CreateCall(hook, values);
    build.CreateRetVoid();
    kernel.thunk->setLinkage(llvm::GlobalValue::InternalLinkage); // nobody calls it any more
}

} // namespace quern::host
