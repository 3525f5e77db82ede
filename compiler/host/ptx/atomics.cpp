// atom and red: integers by the processor, floats and pairs of halves by compare-and-swap.
#include "compiler/host/ptx/memory.h"
#include <llvm/IR/Instructions.h>

namespace quern::host::ptx {
namespace {

using Op = llvm::AtomicRMWInst::BinOp;

struct Row {
    std::string_view name;
    Op of_unsigned, of_signed;
};
constexpr Row operations[] = {
    {"add", Op::Add, Op::Add},
    {"exch", Op::Xchg, Op::Xchg},
    {"min", Op::UMin, Op::Min},
    {"max", Op::UMax, Op::Max},
    {"and", Op::And, Op::And},
    {"or", Op::Or, Op::Or},
    {"xor", Op::Xor, Op::Xor},
    {"inc", Op::UIncWrap, Op::UIncWrap}, // old >= b ? 0 : old + 1
    {"dec", Op::UDecWrap, Op::UDecWrap}, // old == 0 || old > b ? b : old - 1
};

llvm::AtomicOrdering failure_order(llvm::AtomicOrdering order) {
    return llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(order);
}

// One number; gives the old one.
Value* update(Emitter& e, const Row& row, Type type, llvm::AtomicOrdering order, Value* address,
              Value* value) {
    const llvm::Align align(type.width / 8);
    if (!type.is_real())
        return e.build.CreateAtomicRMW(type.is_signed() ? row.of_signed : row.of_unsigned, address,
                                       value, align, order);
    if (row.name == "exch")
        e.refuse();
    if (row.name != "add")
        e.refuse("floating-point numbers are added only");
    if (type.width >= 32)
        return e.build.CreateAtomicRMW(Op::FAdd, address, value, align, order);
    // Halves: spelled out here, so that the pass that rounds them sees the addition.
    auto* bits = e.build.getIntNTy(type.width);
    auto* before = e.build.GetInsertBlock();
    auto* loop = e.begin_loop();
    auto* first =
        llvm::IRBuilder<>(before->getTerminator()).CreateAlignedLoad(bits, address, align);
    first->setAtomic(llvm::AtomicOrdering::Monotonic);
    auto* old = e.build.CreatePHI(bits, 2);
    old->addIncoming(first, before);
    auto* sum = e.build.CreateFAdd(e.build.CreateBitCast(old, type.value(e.context)), value);
    auto* swap = e.build.CreateAtomicCmpXchg(address, old, e.build.CreateBitCast(sum, bits), align,
                                             order, failure_order(order));
    old->addIncoming(e.build.CreateExtractValue(swap, 0), loop);
    e.end_loop(loop, e.build.CreateExtractValue(swap, 1));
    return e.build.CreateBitCast(old, type.value(e.context));
}

void compare_and_swap(Emitter& e, Type type, const Place& place) {
    e.want_operands(4, 5);
    auto* address = address_of(e, place, e.operand(1));
    const Type bits{Type::bits, type.size()};
    auto *expected = e.read(2, bits), *value = e.read(3, bits);
    auto* swap = e.build.CreateAtomicCmpXchg(address, expected, value, llvm::Align(type.size() / 8),
                                             place.order, failure_order(place.order));
    e.write(bits, e.build.CreateExtractValue(swap, 0));
}

void atomic(Emitter& e) {
    const bool gives = e.statement->words[0] == "atom";
    Place place = take_place(e);
    if (place.order == llvm::AtomicOrdering::NotAtomic)
        place.order = llvm::AtomicOrdering::Monotonic;
    const bool swaps = gives && e.take("cas");
    const Row* row = nullptr;
    for (const auto& candidate : operations)
        if (!swaps && !row && e.take(candidate.name))
            row = &candidate;
    if (!swaps && !row)
        e.refuse();
    e.take("noftz");
    ignore_hints(e);
    const auto vector = e.take_any({"v2", "v4", "v8"});
    const unsigned count = vector.empty() ? 1 : static_cast<unsigned>(vector[1] - '0');
    Type type = e.take_type();
    if (type.width > 64 || type.width < 16)
        e.refuse();
    if (swaps)
        return compare_and_swap(e, type, place);
    const std::size_t first = gives ? 1 : 0;
    e.want_operands(first + 2, first + 3);
    auto* address = address_of(e, place, e.operand(first));
    const auto& from = e.operand(first + 1);
    if (count > 1 && (from.kind != Operand::vector || from.parts.size() != count ||
                      (gives && e.operand(0).parts.size() != count)))
        e.refuse("it wants " + std::to_string(count) + " registers in { }");
    const Type one{type.kind, type.width};
    for (unsigned i = 0; i < count; ++i) {
        auto* value = e.read(count == 1 ? from : from.parts[i], type);
        Value* old = nullptr;
        if (type.lanes == 1) {
            old = update(e, *row, type, place.order,
                         e.build.CreateConstGEP1_32(type.value(e.context), address, i), value);
        } else { // each half is atomic by itself
            old = llvm::PoisonValue::get(value->getType());
            for (unsigned lane = 0; lane < type.lanes; ++lane) {
                auto* at = e.build.CreateConstGEP1_32(one.value(e.context), address,
                                                      i * type.lanes + lane);
                auto* part = e.build.CreateExtractElement(value, std::uint64_t{lane});
                old = e.build.CreateInsertElement(old, update(e, *row, one, place.order, at, part),
                                                  std::uint64_t{lane});
            }
        }
        if (gives)
            e.write(count == 1 ? e.operand(0) : e.operand(0).parts[i], type, old);
    }
}

constexpr Instruction rows[] = {{"atom", atomic, false}, {"red", atomic, false}};

} // namespace

Instructions atomic_instructions() { return rows; }

} // namespace quern::host::ptx
