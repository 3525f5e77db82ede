// Cuts a kernel at the places where its threads are held. Values that live over such a place are
// kept: once for the block where all threads agree on them, in the frame, by thread, where not;
// what is cheap to compute from the kernel's arguments and positions is computed again, so that the
// optimiser sees how addresses follow the thread.
#include "compiler/host/regions.h"
#include "compiler/host/agreement.h"
#include "compiler/host/kept_values.h"
#include "compiler/host/passes.h"
#include "compiler/host/reach.h"
#include "compiler/host/region_copy.h"
#include "compiler/host/waits.h"
#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/AttributeMask.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>
#include <map>
#include <optional>

namespace quern::host {
namespace {

using llvm::BasicBlock;
using llvm::CallInst;
using llvm::Function;
using llvm::Instruction;
using llvm::Value;

constexpr std::uint64_t most_threads = host_most_threads;
constexpr std::uint64_t largest_frame = 64 << 20;

struct Stop {
    CallInst* call;
    BasicBlock* resume = nullptr; // begins right after the call
    HostStop kind;
    std::uint32_t op;
};

std::optional<Stop> as_stop(CallInst& call) {
    const auto* callee = call.getCalledFunction();
    if (!callee)
        return std::nullopt;
    const auto name = callee->getName();
    if (name == step_marker)
        return Stop{&call, nullptr, HostStop::none, 0};
    if (name == join_marker)
        return Stop{&call, nullptr, HostStop::block, 0};
    if (name != "__quern_sync_block" && name != "__quern_sync_warp")
        return std::nullopt;
    const auto* op = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
    if (!op)
        return std::nullopt;
    return Stop{&call, nullptr, name.ends_with("block") ? HostStop::block : HostStop::warp,
                static_cast<std::uint32_t>(op->getZExtValue())};
}

// The body with a region's arguments, returning the state that follows.
Function* with_region_arguments(Function& thunk) {
    auto& context = thunk.getContext();
    auto* pointer = llvm::PointerType::get(context, 0);
    auto* word = llvm::Type::getInt32Ty(context);
    llvm::SmallVector<llvm::Type*, 20> params(thunk.getFunctionType()->params());
    params.append({pointer, pointer, pointer, pointer, word});
    auto* body = Function::Create(llvm::FunctionType::get(word, params, false),
                                  llvm::GlobalValue::InternalLinkage, thunk.getName() + ".regions",
                                  thunk.getParent());
    llvm::ValueToValueMapTy map;
    for (auto& argument : thunk.args())
        map[&argument] = body->getArg(argument.getArgNo());
    llvm::SmallVector<llvm::ReturnInst*, 4> returns;
    llvm::CloneFunctionInto(body, &thunk, map, llvm::CloneFunctionChangeType::LocalChangesOnly,
                            returns);
    for (unsigned i = 0; i < 2; ++i)
        body->removeParamAttr(i, llvm::Attribute::NoAlias);
    body->removeRetAttrs(llvm::AttributeFuncs::typeIncompatible(word));
    for (auto* leave : returns) {
        llvm::ReturnInst::Create(context, llvm::ConstantInt::get(word, host_thread_done), leave);
        leave->eraseFromParent();
    }
    return body;
}

class Cutter {
  public:
    Cutter(Function& body, Simplifier& simplifier, const Budget& budget, bool several_blocks)
        : body_(body), simplifier_(simplifier), budget_(budget), several_blocks_(several_blocks),
          data_(body.getParent()->getDataLayout()), build_(body.getContext()) {}

    Cutter(const Cutter&) = delete;
    Cutter& operator=(const Cutter&) = delete;

    Regions cut() {
        Regions regions;
        move_variables_to_frame();
        find_stops();
        if (stops_.size() + 1 > host_most_regions) {
            regions.why_not = "its threads are held at " + std::to_string(stops_.size()) +
                              " places, more than " + std::to_string(host_most_regions - 1);
            return regions;
        }
        decide_where_to_keep();
        if (frame_bytes_ > largest_frame) {
            regions.why_not = "its threads keep " + std::to_string(frame_bytes_ >> 20) +
                              " MiB between them, more than " + std::to_string(largest_frame >> 20);
            return regions;
        }
        demote();
        std::uint32_t kept = 0;
        for (int i = -1; i < static_cast<int>(stops_.size()); ++i) {
            Region region;
            if (i >= 0)
                region = {nullptr, stops_[i].kind, stops_[i].op, kept, kept_bytes_[i]};
            kept_offset_.push_back(kept);
            kept += static_cast<std::uint32_t>(llvm::alignTo(region.kept_bytes, 16));
            regions.list.push_back(region);
        }
        for (int i = -1; i < static_cast<int>(stops_.size()); ++i) {
            if (budget_.is_spent())
                return {};
            regions.list[i + 1].body = make_region(i);
        }
        regions.frame_bytes = frame_bytes_;
        regions.kept_bytes = kept;
        return regions;
    }

  private:
    // A thread's own arrays live in the frame: they must outlast the region.
    void move_variables_to_frame() {
        llvm::SmallVector<llvm::AllocaInst*, 8> variables;
        for (auto& instruction : llvm::instructions(body_))
            if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
                variables.push_back(variable);
        for (auto* variable : variables) {
            build_.SetInsertPoint(variable);
            const auto bytes =
                llvm::alignTo(variable->getAllocationSize(data_)
                                  .value_or(llvm::TypeSize::getFixed(0))
                                  .getFixedValue(),
                              std::max<std::uint64_t>(8, variable->getAlign().value()));
            Value* place = frame_place(reserve_frame(bytes, variable->getAlign().value()), bytes);
            variable->replaceAllUsesWith(place);
            variable->eraseFromParent();
        }
        for (auto& instruction : llvm::make_early_inc_range(llvm::instructions(body_)))
            if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
                call && call->isLifetimeStartOrEnd())
                call->eraseFromParent();
    }

    std::uint64_t reserve_frame(std::uint64_t bytes, std::uint64_t align) {
        const auto at = llvm::alignTo(frame_bytes_, std::max<std::uint64_t>(64, align));
        frame_bytes_ = at + bytes * most_threads + 64; // not all in the same cache sets
        return at;
    }

    Value* frame_place(std::uint64_t offset, std::uint64_t bytes, Function* in = nullptr) {
        auto& function = in ? *in : body_;
        auto* number = build_.CreateZExt(function.getArg(number_at), build_.getInt64Ty());
        auto* at =
            build_.CreateAdd(build_.CreateMul(number, build_.getInt64(bytes), "", true, true),
                             build_.getInt64(offset), "", true, true);
        return build_.CreateInBoundsGEP(build_.getInt8Ty(), function.getArg(frame_at), at);
    }

    void find_stops() {
        llvm::SmallVector<CallInst*, 16> calls;
        for (auto& instruction : llvm::instructions(body_))
            if (auto* call = llvm::dyn_cast<CallInst>(&instruction); call && as_stop(*call))
                calls.push_back(call);
        for (auto* call : calls) {
            Stop stop = *as_stop(*call);
            stop.resume = llvm::SplitBlock(call->getParent(), call->getNextNode());
            stop_at_[call->getParent()] = stops_.size();
            stops_.push_back(stop);
        }
    }

    // For each stop: whether a value that lives over it is computed again there, and from what.
    [[nodiscard]] bool is_made_again(Instruction* value, std::size_t stop,
                                     const Agreement& agreement, bool together,
                                     llvm::SetVector<Instruction*>& leaves) const {
        const auto* place = stops_[stop].call->getParent();
        return value != stops_[stop].call && Recipes::know(value, agreement, place, leaves) &&
               (leaves.empty() || (together && !agreement.uniform_at(value, place)));
    }

    // Values defined before a stop and used after it. What others are made of again must be there
    // for them, so it lives as long as they do.
    void find_live_values(const Agreement& agreement, const std::vector<bool>& together) {
        Needs needs;
        for (bool more = true; more;) {
            more = false;
            const LiveValues live(body_, needs);
            live_.clear();
            for (std::size_t i = 0; i < stops_.size(); ++i) {
                live_.push_back(live.at(*stops_[i].resume));
                for (auto* value : live_.back()) {
                    llvm::SetVector<Instruction*> leaves;
                    if (is_made_again(value, i, agreement, together[i], leaves))
                        for (auto* leaf : leaves)
                            more |= needs[stops_[i].call->getParent()].insert(leaf);
                }
            }
        }
    }

    void decide_where_to_keep() {
        const llvm::DominatorTree tree(body_);
        const llvm::LoopInfo loops(tree);
        llvm::SmallVector<CallInst*, 16> calls;
        llvm::SmallVector<const llvm::Loop*, 4> stepped;
        for (auto& stop : stops_) {
            calls.push_back(stop.call);
            if (stop.call->getCalledFunction()->getName() == step_marker)
                stepped.push_back(loops.getLoopFor(stop.call->getParent()));
        }
        const Agreement agreement(body_, calls, stepped, loops, several_blocks_);
        bool in_step = true; // nobody runs ahead between two barriers
        for (auto& stop : stops_)
            in_step &= stop.kind == HostStop::block || agreement.common(stop.call->getParent());
        std::vector<bool> together;
        for (auto& stop : stops_)
            together.push_back(agreement.common(stop.call->getParent()) &&
                               (in_step || stop.kind == HostStop::block));
        find_live_values(agreement, together);
        for (std::size_t i = 0; i < stops_.size(); ++i) {
            auto* place = stops_[i].call->getParent();
            auto& own = kept_.emplace_back();
            std::uint32_t bytes = 0;
            const auto keep_once = [&](Instruction* value) {
                if (own.count(value))
                    return;
                const auto align = data_.getABITypeAlign(value->getType()).value();
                bytes = static_cast<std::uint32_t>(llvm::alignTo(bytes, align));
                own[value] = bytes;
                bytes += static_cast<std::uint32_t>(
                    data_.getTypeAllocSize(value->getType()).getFixedValue());
            };
            again_.emplace_back();
            const llvm::SetVector<Instruction*> live = live_[i];
            for (auto* value : live) {
                all_.insert(value);
                if (value == stops_[i].call)
                    continue;
                llvm::SetVector<Instruction*> leaves;
                if (is_made_again(value, i, agreement, together[i], leaves)) {
                    recipes_.keep(value, leaves);
                    again_[i].insert(value);
                    for (auto* leaf : leaves) {
                        all_.insert(leaf);
                        keep_once(leaf);
                    }
                    continue;
                }
                if (together[i] && agreement.uniform_at(value, place)) {
                    keep_once(value);
                    continue;
                }
                framed(i).insert(value);
            }
            kept_bytes_.push_back(bytes);
        }
        place_in_frame();
    }

    // Values that never live over the same stop may have the same place: what leaves a loop by one
    // way or another is then written to one place whichever it is.
    void place_in_frame() {
        framed(stops_.size());
        std::vector<Place> slots;
        std::vector<llvm::BitVector> used(framed_.size()); // by stop: which slots
        llvm::MapVector<Value*, llvm::SmallVector<std::size_t, 4>> lives_over;
        for (auto* value : all_)
            lives_over[value];
        for (std::size_t stop = 0; stop < framed_.size(); ++stop)
            for (auto* value : framed_[stop])
                lives_over[value].push_back(stop);
        for (const auto& [value, stops] : lives_over) {
            if (stops.empty())
                continue;
            const auto bytes = data_.getTypeAllocSize(value->getType()).getFixedValue();
            llvm::BitVector taken(static_cast<unsigned>(slots.size()));
            for (const auto stop : stops) {
                used[stop].resize(static_cast<unsigned>(slots.size()));
                taken |= used[stop];
            }
            unsigned at = 0;
            while (at < slots.size() && (taken[at] || slots[at].bytes != bytes))
                ++at;
            if (at == slots.size())
                slots.push_back({reserve_frame(bytes, 1), bytes});
            for (const auto stop : stops) {
                used[stop].resize(static_cast<unsigned>(slots.size()));
                used[stop].set(at);
            }
            places_[value] = slots[at];
        }
    }

    llvm::SetVector<Instruction*>& framed(std::size_t stop) {
        if (framed_.size() <= stop)
            framed_.resize(stop + 1);
        return framed_[stop];
    }

    // From here on every such value is a variable: LLVM puts the ways together again in each
    // region.
    void demote() {
        for (auto* value : all_)
            types_[value] = value->getType();
        auto* first = &*body_.getEntryBlock().getFirstInsertionPt();
        for (auto* value : all_) {
            auto* kept = value;
            if (auto* phi = llvm::dyn_cast<llvm::PHINode>(value)) {
                // One variable for what comes in, read at once into another: values may change
                // places.
                auto* incoming = llvm::DemotePHIToStack(phi, first->getIterator());
                for (auto* user : incoming->users())
                    if (llvm::isa<llvm::LoadInst>(user))
                        kept = llvm::cast<Instruction>(user);
            }
            variables_[value] = llvm::DemoteRegToStack(*kept, false, first->getIterator());
        }
    }

    Function* make_region(int number) {
        auto* start = number < 0 ? &body_.getEntryBlock() : stops_[number].resume;
        RegionCopy copy(body_, *start, stop_at_, body_.getName() + "." + llvm::Twine(number + 1));
        auto* region = copy.region();
        // Every stop that is reached ends the region.
        for (const auto i : copy.ends()) {
            auto* call = copy.local(stops_[i].call);
            build_.SetInsertPoint(call);
            emit_arrival(*region, stops_[i], *call);
            for (auto& [value, offset] : kept_[i]) {
                auto* now = build_.CreateLoad(types_[value], copy.local(variables_[value]));
                build_.CreateAlignedStore(now, kept_place(*region, keep_at, i, offset),
                                          data_.getABITypeAlign(types_[value]));
            }
            for (auto* value : framed_[i]) {
                auto* now = build_.CreateLoad(types_[value], copy.local(variables_[value]));
                const auto [offset, bytes] = places_[value];
                build_.CreateAlignedStore(now, frame_place(offset, bytes, region),
                                          data_.getABITypeAlign(types_[value]));
            }
            llvm::changeToUnreachable(call); // what stood behind it belongs to another region
            auto* end = build_.GetInsertBlock()->getTerminator();
            llvm::ReturnInst::Create(region->getContext(),
                                     build_.getInt32(static_cast<std::uint32_t>(i + 1)),
                                     end->getIterator());
            end->eraseFromParent();
        }
        if (number >= 0)
            begin_at(*region, number, copy);
        region->addFnAttr(llvm::Attribute::AlwaysInline);
        simplifier_.clean(*region);
        lift_divisions(*region);
        return region;
    }

    void begin_at(Function& region, int number, RegionCopy& copy) {
        build_.SetInsertPoint(&region.getEntryBlock());
        llvm::MapVector<Value*, Value*> known; // in this order it is written: the same each time
        const auto& stop = stops_[number];
        for (auto& [value, offset] : kept_[number]) {
            auto* load =
                build_.CreateAlignedLoad(types_[value], kept_place(region, kept_at, number, offset),
                                         data_.getABITypeAlign(types_[value]));
            load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                              llvm::MDNode::get(region.getContext(), {}));
            known[value] = load;
        }
        for (auto* value : framed_[number]) {
            const auto [offset, bytes] = places_[value];
            known[value] =
                build_.CreateAlignedLoad(types_[value], frame_place(offset, bytes, &region),
                                         data_.getABITypeAlign(types_[value]));
        }
        if (live_[number].contains(stop.call))
            known[stop.call] = emit_result(region, stop);
        for (auto* value : again_[number])
            known[value] = recipes_.follow(build_, region, value, known);
        for (auto& [value, now] : known)
            if (const auto found = variables_.find(value); found != variables_.end())
                if (auto* variable = copy.find_local(found->second))
                    build_.CreateStore(now, variable);
        build_.CreateBr(copy.local(stop.resume));
    }

    Value* kept_place(Function& region, unsigned argument, std::size_t stop, std::uint32_t offset) {
        return build_.CreateConstInBoundsGEP1_64(build_.getInt8Ty(), region.getArg(argument),
                                                 kept_offset_[stop + 1] + offset);
    }

    Value* by_thread(Function& region, std::size_t field, llvm::Type* type) {
        auto* array = build_.CreateLoad(
            build_.getPtrTy(),
            build_.CreateConstInBoundsGEP1_64(build_.getInt8Ty(), region.getArg(call_at), field));
        array->setMetadata(llvm::LLVMContext::MD_invariant_load,
                           llvm::MDNode::get(region.getContext(), {}));
        return build_.CreateInBoundsGEP(
            type, array, build_.CreateZExt(region.getArg(number_at), build_.getInt64Ty()));
    }

    void emit_arrival(Function& region, const Stop& stop, CallInst& call) {
        if (stop.kind == HostStop::warp) {
            build_.CreateStore(
                call.getArgOperand(1),
                by_thread(region, offsetof(HostRegionCall, masks), build_.getInt32Ty()));
            build_.CreateStore(
                call.getArgOperand(2),
                by_thread(region, offsetof(HostRegionCall, values), build_.getInt64Ty()));
            if (stop.op == 1)
                build_.CreateStore(
                    call.getArgOperand(3),
                    by_thread(region, offsetof(HostRegionCall, sources), build_.getInt32Ty()));
        } else if (stop.kind == HostStop::block && stop.op != 0) {
            auto* vote = build_.CreateZExt(build_.CreateIsNotNull(call.getArgOperand(1)),
                                           build_.getInt8Ty());
            build_.CreateStore(
                vote, by_thread(region, offsetof(HostRegionCall, votes), build_.getInt8Ty()));
        }
    }

    Value* emit_result(Function& region, const Stop& stop) {
        auto* type = stop.call->getType();
        if (stop.kind == HostStop::warp)
            return build_.CreateLoad(
                type, by_thread(region, offsetof(HostRegionCall, values), build_.getInt64Ty()));
        auto* load = build_.CreateLoad(
            type, build_.CreateConstInBoundsGEP1_64(build_.getInt8Ty(), region.getArg(call_at),
                                                    offsetof(HostRegionCall, vote)));
        load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                          llvm::MDNode::get(region.getContext(), {}));
        return load;
    }

    struct Place {
        std::uint64_t offset, bytes;
    };
    Function& body_;
    Simplifier& simplifier_;
    const Budget& budget_;
    const bool several_blocks_;
    const llvm::DataLayout& data_;
    llvm::IRBuilder<> build_;
    std::vector<Stop> stops_;
    llvm::DenseMap<const BasicBlock*, std::size_t> stop_at_; // the block that ends in its call
    std::vector<llvm::SetVector<Instruction*>> live_, again_, framed_; // by stop
    std::vector<llvm::MapVector<Value*, std::uint32_t>> kept_;         // by stop: offsets
    std::vector<std::uint32_t> kept_bytes_, kept_offset_;
    llvm::SetVector<Instruction*> all_;
    std::map<Value*, Place> places_;

    Recipes recipes_;
    std::map<Value*, llvm::Type*> types_;
    std::map<Value*, llvm::AllocaInst*> variables_;
    std::uint64_t frame_bytes_ = 0;
};

const char* forbidden(llvm::StringRef wait) {
    if (wait == "__quern_active_mask")
        return "it asks which threads are here";
    if (wait == "__quern_yield")
        return "its threads spin until another one writes";
    if (wait == "__quern_leave_thread")
        return "its threads end inside a function";
    return wait == "__quern_sync_named" ? "its threads wait at a named barrier"
                                        : "its threads wait for the whole grid";
}

// Why a body cannot be cut; nullptr when it can.
const char* what_forbids(Function& body) {
    for (auto* function : reached_from(body)) {
        if (function == &body)
            continue;
        const auto name = function->getName();
        if (name == "__quern_context")
            return "a function that is not part of it reads threadIdx or shared memory";
        if (is_wait(*function) && name != "__quern_sync_block" && name != "__quern_sync_warp")
            return forbidden(name);
        if (function->isDeclaration())
            continue;
        if (calls_by_address(*function))
            return "it calls functions by address";
        for (auto& instruction : llvm::instructions(*function))
            if (auto* call = llvm::dyn_cast<CallInst>(&instruction);
                call && call->getCalledFunction() && is_wait(*call->getCalledFunction()))
                return "its threads wait in a function that is not part of it";
    }
    if (calls_by_address(body))
        return "it calls functions by address";
    for (auto& instruction : llvm::instructions(body)) {
        if (auto* call = llvm::dyn_cast<CallInst>(&instruction))
            if (auto* callee = call->getCalledFunction();
                callee && is_wait(*callee) && !as_stop(*call))
                return "what its warps exchange is chosen while it runs";
        if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
            if (!variable->getAllocationSize(body.getParent()->getDataLayout()))
                return "a thread's array has no fixed size";
    }
    return nullptr;
}

void find_round(Region& region, std::uint8_t number, bool several_blocks, Simplifier& simplifier) {
    region.round =
        make_round(*region.body, region.agreed, region.idle.has_value(), number, several_blocks);
    if (!region.round || !region.round->goes_on)
        return;
    const auto erase = [&](Function& body) {
        simplifier.forget(body);
        body.eraseFromParent();
    };
    if (region.idle)
        erase(*region.idle->body);
    region.idle.reset();
    erase(*region.body);
    region.body = region.round->body;
    region.agreed = region.round->agreed;
}

} // namespace

Regions cut_in_regions(Kernel& kernel, Simplifier& simplifier, const Budget& budget) {
    auto* body = with_region_arguments(*kernel.thunk);
    simplifier.run(*body);
    Regions regions;
    if (const char* reason = what_forbids(*body)) {
        regions.why_not = reason;
    } else {
        simplifier.shape_loops(*body);
        const Steps steps = step_through_loops(*body, !kernel.waits);
        if (kernel.waits || steps.found) {
            Cutter cutter(*body, simplifier, budget, steps.several_blocks);
            regions = cutter.cut();
            regions.steps = steps;
            llvm::SmallVector<KeptPlace, 8> places;
            for (const auto& region : regions.list)
                places.push_back({region.kept_offset, region.kept_bytes});
            regions.counts_through = steps.several_blocks;
            for (auto& region : regions.list) {
                regions.counts_through &= counts_through_blocks(*region.body);
                region.agreed = take_agreed_stores(*region.body, places, steps.several_blocks);
                region.idle = find_idle(*region.body, region.body->getArg(thread_at),
                                        region.body->getArg(number_at), simplifier);
                find_round(region, static_cast<std::uint8_t>(&region - regions.list.data()),
                           steps.several_blocks, simplifier);
            }
            regions.keeps_nothing = regions.counts_through && regions.frame_bytes == 0 &&
                                    llvm::all_of(regions.list, [&](const Region& region) {
                                        const auto fork = find_fork(*region.body, true);
                                        return region.round || (fork && !fork->row) ||
                                               find_ends(*region.body).size() == 1;
                                    });
        }
    }
    simplifier.forget(*body);
    body->eraseFromParent();
    return regions;
}

} // namespace quern::host
