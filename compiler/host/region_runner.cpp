// Loops over the threads of a block around each region. Threads of a row are the inner loop: LLVM's
// vectoriser works on that one.
#include "compiler/host/passes.h"
#include "compiler/host/regions.h"
#include "compiler/host/row_values.h"
#include <llvm/IR/IRBuilder.h>
#include <optional>

namespace quern::host {
namespace {

using llvm::BasicBlock;
using llvm::Value;

class RegionRunner {
  public:
    RegionRunner(llvm::Module& module, const Kernel& kernel, const Region& region, unsigned number)
        : region_(region), context_(module.getContext()), build_(context_) {
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
        if (kernel.args_bytes)
            runner_->addDereferenceableParamAttr(1, kernel.args_bytes);
        runner_->addParamAttr(1, llvm::Attribute::getWithAlignment(context_, args_align));
        group_ = llvm::MDNode::getDistinct(context_, {});
    }

    llvm::Function* emit() {
        mark_parallel(*region_.body, group_);
        auto *entry = block("entry"), *rows = block("row"), *row_done = block("row_done"),
             *exit = block("exit");
        build_.SetInsertPoint(entry);
        values_ = {runner_->getArg(1), pointer_field(offsetof(HostRegionCall, shared))};
        values_.resize(region_arguments);
        for (unsigned axis = 0; axis < 3; ++axis) {
            position(3, axis) =
                word_field(offsetof(HostRegionCall, block) + 4 * axis, 0x7fffffff, 0);
            position(6, axis) =
                word_field(offsetof(HostRegionCall, block_size) + 4 * axis, 1025, 1);
            position(9, axis) =
                word_field(offsetof(HostRegionCall, grid_size) + 4 * axis, 0x7fffffff, 1);
        }
        values_[frame_at] = pointer_field(offsetof(HostRegionCall, frame));
        values_[kept_at] = pointer_field(offsetof(HostRegionCall, kept));
        values_[keep_at] = pointer_field(offsetof(HostRegionCall, keep));
        values_[call_at] = runner_->getArg(0);
        states_ = pointer_field(offsetof(HostRegionCall, states));
        auto* row_size = position(6, 0);
        auto *first_row = word_field(offsetof(HostRegionCall, first_row), 1024, 0),
             *last_row = word_field(offsetof(HostRegionCall, last_row), 1025, 1),
             *from = word_field(offsetof(HostRegionCall, from), 1024, 0),
             *to = word_field(offsetof(HostRegionCall, to), 1025, 1);
        auto* first_y = build_.CreateURem(first_row, position(6, 1));
        auto* first_z = build_.CreateUDiv(first_row, position(6, 1));
        ends_ = find_ends(*region_.body);
        fork_ = find_fork(*region_.body);
        if (ends_.size() > 1 && !fork_)
            for ([[maybe_unused]] auto end : ends_) {
                reached_.push_back(build_.CreateAlloca(build_.getInt1Ty()));
                build_.CreateStore(build_.getFalse(), reached_.back());
            }
        build_.CreateBr(rows);

        build_.SetInsertPoint(rows);
        auto *row = build_.CreatePHI(build_.getInt32Ty(), 2, "row"),
             *y = build_.CreatePHI(build_.getInt32Ty(), 2, "thread.y"),
             *z = build_.CreatePHI(build_.getInt32Ty(), 2, "thread.z");
        row->addIncoming(first_row, entry);
        y->addIncoming(first_y, entry);
        z->addIncoming(first_z, entry);
        position(0, 1) = y;
        position(0, 2) = z;
        auto* start = build_.CreateMul(row, row_size, "", true, true); // its first thread's number
        if (const auto& idle = region_.idle) {
            const auto busy =
                emit_busy(build_, *idle, values_, region_.body->getArg(first_position), from, to);
            if (!idle->does_nothing) {
                mark_parallel(*idle->body, group_);
                emit_threads(*idle->body, start, from, busy.first, true);
            }
            emit_threads(*region_.body, start, busy.first, busy.last, true);
            if (!idle->does_nothing)
                emit_threads(*idle->body, start, busy.last, to, true);
        } else {
            emit_threads(*region_.body, start, from, to, false);
        }
        build_.CreateBr(row_done);

        build_.SetInsertPoint(row_done);
        auto* next_row = build_.CreateAdd(row, build_.getInt32(1), "", true, true);
        auto* next_y = build_.CreateAdd(y, build_.getInt32(1), "", true, true);
        auto* wraps = build_.CreateICmpEQ(next_y, position(6, 1));
        row->addIncoming(next_row, row_done);
        y->addIncoming(build_.CreateSelect(wraps, build_.getInt32(0), next_y), row_done);
        z->addIncoming(
            build_.CreateAdd(z, build_.CreateZExt(wraps, build_.getInt32Ty()), "", true, true),
            row_done);
        build_.CreateCondBr(build_.CreateICmpULT(next_row, last_row), rows, exit);
        build_.SetInsertPoint(exit);
        emit_ends();
        return runner_;
    }

  private:
    Value*& position(unsigned what, unsigned axis) { return values_[first_position + what + axis]; }
    BasicBlock* block(const char* name) { return BasicBlock::Create(context_, name, runner_); }

    llvm::LoadInst* field(llvm::Type* type, std::size_t offset) {
        auto* load = build_.CreateLoad(type, build_.CreateConstInBoundsGEP1_64(
                                                 build_.getInt8Ty(), runner_->getArg(0), offset));
        load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
        load->setMetadata(llvm::LLVMContext::MD_noundef, llvm::MDNode::get(context_, {}));
        return load;
    }
    Value* pointer_field(std::size_t offset) { return field(build_.getPtrTy(), offset); }
    Value* word_field(std::size_t offset, unsigned limit, unsigned least) {
        auto* load = field(build_.getInt32Ty(), offset);
        load->setMetadata(
            llvm::LLVMContext::MD_range,
            llvm::MDNode::get(context_, {llvm::ConstantAsMetadata::get(build_.getInt32(least)),
                                         llvm::ConstantAsMetadata::get(build_.getInt32(limit))}));
        return load;
    }

    // Threads [from, to) of the row whose first thread has the number `start`.
    void emit_threads(llvm::Function& body, Value* start, Value* from, Value* to, bool maybe_none) {
        auto *before = build_.GetInsertBlock(), *threads = block("thread"),
             *after = block("threads_done");
        if (maybe_none)
            build_.CreateCondBr(build_.CreateICmpULT(from, to), threads, after);
        else
            build_.CreateBr(threads);
        build_.SetInsertPoint(threads);
        auto* x = build_.CreatePHI(build_.getInt32Ty(), 2, "thread.x");
        x->addIncoming(from, before);
        position(0, 0) = x;
        auto* number = build_.CreateAdd(start, x, "thread", true, true);
        values_[number_at] = number;
        auto* state = build_.CreateTrunc(build_.CreateCall(&body, values_), build_.getInt8Ty());
        for (std::size_t i = 0; i < reached_.size(); ++i)
            build_.CreateStore(
                build_.CreateOr(build_.CreateLoad(build_.getInt1Ty(), reached_[i]),
                                build_.CreateICmpEQ(state, build_.getInt8(ends_[i]))),
                reached_[i]);
        if (ends_.size() != 1 && !fork_) {
            auto* place = build_.CreateInBoundsGEP(build_.getInt8Ty(), states_,
                                                   build_.CreateZExt(number, build_.getInt64Ty()));
            build_.CreateStore(state, place)
                ->setMetadata(llvm::LLVMContext::MD_access_group, group_);
        }
        auto* next = build_.CreateAdd(x, build_.getInt32(1), "", true, true);
        x->addIncoming(next, threads);
        build_.CreateCondBr(build_.CreateICmpULT(next, to), threads, after)
            ->setMetadata(llvm::LLVMContext::MD_loop, loop_facts());
        build_.SetInsertPoint(after);
    }

    // Writes what the threads agreed on, and returns where they all are.
    void emit_ends() {
        llvm::SmallVector<Value*, 4> reached;
        for (auto* variable : reached_)
            reached.push_back(build_.CreateLoad(build_.getInt1Ty(), variable));
        if (fork_) {
            RowCopier copier(build_, values_, region_.body->getArg(first_position), nullptr);
            auto* holds = copier.copy(fork_->condition);
            for (auto end : ends_)
                reached.push_back(end == fork_->then ? holds : build_.CreateNot(holds));
        }
        for (std::size_t i = 0; i < ends_.size(); ++i) {
            BasicBlock* after = nullptr;
            for (const auto& agreed : region_.agreed) {
                if (agreed.end != ends_[i])
                    continue;
                if (!after && !reached.empty()) {
                    auto* here = block("agreed");
                    after = block("written");
                    build_.CreateCondBr(reached[i], here, after);
                    build_.SetInsertPoint(here);
                }
                RowCopier copier(build_, values_, region_.body->getArg(first_position), nullptr);
                build_.CreateAlignedStore(copier.copy(agreed.value),
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

    llvm::MDNode* loop_facts() {
        const auto text = [&](const char* name) { return llvm::MDString::get(context_, name); };
        auto* node = llvm::MDNode::getDistinct(
            context_,
            {nullptr, llvm::MDNode::get(context_, text("llvm.loop.mustprogress")),
             llvm::MDNode::get(context_, {text("llvm.loop.parallel_accesses"), group_}),
             llvm::MDNode::get(context_, {text("llvm.loop.interleave.count"),
                                          llvm::ConstantAsMetadata::get(build_.getInt32(1))}),
             llvm::MDNode::get(context_, text("llvm.loop.unroll.disable"))});
        node->replaceOperandWith(0, node);
        return node;
    }

    const Region& region_;
    llvm::LLVMContext& context_;
    llvm::IRBuilder<> build_;
    llvm::Function* runner_;
    llvm::MDNode* group_;
    Value* states_ = nullptr;
    Ends ends_; // where threads may come to, and
    std::optional<Fork> fork_;
    llvm::SmallVector<Value*, 4> reached_; // whether any has: variables, if there are several
    llvm::SmallVector<Value*, 20> values_;
};

} // namespace

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
            {RegionRunner(module, kernel, region, i).emit(),
             build.getInt32(static_cast<std::uint32_t>(region.stop)), build.getInt32(region.op),
             build.getInt32(region.kept_offset), build.getInt32(region.kept_bytes)}));
    }
    auto* list_type = llvm::ArrayType::get(row_type, rows.size());
    auto* table_type = llvm::StructType::get(context, {word, word, word, word, word, list_type});
    auto* table = new llvm::GlobalVariable(
        module, table_type, true, llvm::GlobalValue::InternalLinkage,
        llvm::ConstantStruct::get(
            table_type,
            {build.getInt32(static_cast<std::uint32_t>(rows.size())),
             build.getInt32(static_cast<std::uint32_t>(regions.frame_bytes)),
             build.getInt32(regions.kept_bytes), build.getInt32(kernel.static_shared_bytes),
             build.getInt32(regions.stepped), llvm::ConstantArray::get(list_type, rows)}),
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
