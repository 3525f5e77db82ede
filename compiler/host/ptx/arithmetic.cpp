// Integer arithmetic, with the carry flag that chains additions over several words.
#include "compiler/host/ptx/emitter.h"

namespace quern::host::ptx {
namespace {

using llvm::Intrinsic::ID;

struct Sum {
    Value* value;
    Value* carry;
};

Sum with_overflow(Emitter& e, ID id, Value* a, Value* b) {
    auto* pair = e.intrinsic(id, {a, b});
    return {e.build.CreateExtractValue(pair, 0), e.build.CreateExtractValue(pair, 1)};
}

// a + b + in or a - b - in; `in` may be null.
Sum add_with_carry(Emitter& e, bool subtract, Value* a, Value* b, Value* in) {
    const auto id =
        subtract ? llvm::Intrinsic::usub_with_overflow : llvm::Intrinsic::uadd_with_overflow;
    Sum sum = with_overflow(e, id, a, b);
    if (in) {
        const Sum second = with_overflow(e, id, sum.value, e.build.CreateZExt(in, a->getType()));
        sum = {second.value, e.build.CreateOr(sum.carry, second.carry)};
    }
    return sum;
}

// add sub addc subc, and the addition in mad and madc.
void chain(Emitter& e, Type type, bool subtract, bool reads, Value* a, Value* b) {
    const bool writes = e.take("cc");
    if ((reads || writes) && (type.lanes != 1 || type.width < 32))
        e.refuse("carries are of 32 or 64 bits");
    const Sum sum = add_with_carry(e, subtract, a, b, reads ? e.read_carry() : nullptr);
    if (writes)
        e.write_carry(sum.carry);
    e.write(type, sum.value);
}

void add_or_subtract(Emitter& e) {
    const auto& name = e.statement->words[0];
    const Type type = e.take_type();
    if (type.is_real())
        return emit_float(e, type);
    e.want_operands(3);
    const bool subtract = name[0] == 's', reads = name.size() == 4;
    auto *a = e.read(1, type), *b = e.read(2, type);
    if (e.take("sat")) {
        if (type.kind != Type::signed_integer || type.width != 32)
            e.refuse("'.sat' is for s32");
        e.write(type, e.intrinsic(subtract ? llvm::Intrinsic::ssub_sat : llvm::Intrinsic::sadd_sat,
                                  {a, b}));
        return;
    }
    if (type.lanes != 1 || (!reads && type.width == 16)) {
        e.write(type, subtract ? e.build.CreateSub(a, b) : e.build.CreateAdd(a, b));
        return;
    }
    chain(e, type, subtract, reads, a, b);
}

Value* extend(Emitter& e, Type type, Value* value, unsigned width) {
    auto* wide = e.build.getIntNTy(width);
    return type.is_signed() ? e.build.CreateSExt(value, wide) : e.build.CreateZExt(value, wide);
}

// The product's `part`: lo, hi, or wide. `type` becomes that of the result.
Value* product(Emitter& e, Type& type, std::string_view part, Value* a, Value* b) {
    if (part == "lo")
        return e.build.CreateMul(a, b);
    const unsigned width = type.width;
    auto* all = e.build.CreateMul(extend(e, type, a, 2 * width), extend(e, type, b, 2 * width));
    if (part == "wide") {
        type.width *= 2;
        return all;
    }
    return e.build.CreateTrunc(e.build.CreateLShr(all, width), a->getType());
}

std::string_view take_part(Emitter& e) {
    const auto part = e.take_any({"lo", "hi", "wide"});
    if (part.empty())
        e.refuse("'.lo', '.hi' or '.wide' is missing");
    return part;
}

void multiply(Emitter& e) {
    Type type = e.take_type();
    if (type.is_real())
        return emit_float(e, type);
    e.want_operands(3);
    const auto part = take_part(e);
    if (type.width > (part == "wide" ? 32U : 64U))
        e.refuse();
    auto* value = product(e, type, part, e.read(1, type), e.read(2, type));
    e.write(type, value);
}

void multiply_add(Emitter& e) {
    Type type = e.take_type();
    if (type.is_real())
        return emit_float(e, type);
    e.want_operands(4);
    const bool reads = e.statement->words[0] == "madc";
    const auto part = take_part(e);
    auto *a = e.read(1, type), *b = e.read(2, type);
    auto* value = product(e, type, part, a, b);
    auto* c = e.read(3, type);
    if (e.take("sat")) {
        if (part != "hi" || type.kind != Type::signed_integer || type.width != 32)
            e.refuse("'.sat' is for mad.hi.s32");
        e.write(type, e.intrinsic(llvm::Intrinsic::sadd_sat, {value, c}));
        return;
    }
    chain(e, type, false, reads, value, c);
}

// 24-bit factors, a 48-bit product: its low 32 bits, or its high 32.
void multiply_24(Emitter& e) {
    const bool adds = e.statement->words[0] == "mad24";
    const Type type = e.take_type();
    if (type.width != 32 || type.is_real())
        e.refuse();
    e.want_operands(adds ? 4 : 3);
    const auto part = e.take_any({"lo", "hi"});
    if (part.empty())
        e.refuse("'.lo' or '.hi' is missing");
    const auto factor = [&](std::size_t index) -> Value* {
        auto* narrow = e.build.CreateTrunc(e.read(index, type), e.build.getIntNTy(24));
        return extend(e, type, narrow, 64);
    };
    auto* all = e.build.CreateMul(factor(1), factor(2));
    Value* value =
        e.build.CreateTrunc(part == "hi" ? e.build.CreateLShr(all, 16) : all, e.build.getInt32Ty());
    if (adds) {
        auto* c = e.read(3, type);
        value = e.take("sat") ? e.intrinsic(llvm::Intrinsic::sadd_sat, {value, c})
                              : e.build.CreateAdd(value, c);
    }
    e.write(type, value);
}

void divide(Emitter& e) {
    const Type type = e.take_type();
    if (type.is_real())
        return emit_float(e, type);
    e.want_operands(3);
    const bool remainder = e.statement->words[0] == "rem";
    auto *a = e.read(1, type), *b = e.read(2, type);
    e.write(type, type.is_signed()
                      ? (remainder ? e.build.CreateSRem(a, b) : e.build.CreateSDiv(a, b))
                      : (remainder ? e.build.CreateURem(a, b) : e.build.CreateUDiv(a, b)));
}

void absolute_or_negative(Emitter& e) {
    const Type type = e.take_type();
    if (type.is_real())
        return emit_float(e, type);
    e.want_operands(2);
    auto* a = e.read(1, type);
    e.write(type, e.statement->words[0] == "neg"
                      ? e.build.CreateNeg(a)
                      : e.intrinsic(llvm::Intrinsic::abs, {a, e.build.getFalse()}));
}

void least_or_greatest(Emitter& e) {
    const Type type = e.take_type();
    if (type.is_real())
        return emit_float(e, type);
    e.want_operands(3);
    const bool least = e.statement->words[0] == "min";
    auto *a = e.read(1, type), *b = e.read(2, type);
    auto* value =
        e.intrinsic(type.is_signed() ? (least ? llvm::Intrinsic::smin : llvm::Intrinsic::smax)
                                     : (least ? llvm::Intrinsic::umin : llvm::Intrinsic::umax),
                    {a, b});
    if (e.take("relu")) {
        if (!type.is_signed())
            e.refuse("'.relu' is for signed integers");
        value = e.intrinsic(llvm::Intrinsic::smax, {value, e.constant(type, 0)});
    }
    e.write(type, value);
}

// c + |a - b|
void sum_of_differences(Emitter& e) {
    const Type type = e.take_type();
    if (type.is_real())
        e.refuse();
    e.want_operands(4);
    auto *a = e.read(1, type), *b = e.read(2, type);
    auto* below = type.is_signed() ? e.build.CreateICmpSLT(a, b) : e.build.CreateICmpULT(a, b);
    auto* difference =
        e.build.CreateSelect(below, e.build.CreateSub(b, a), e.build.CreateSub(a, b));
    e.write(type, e.build.CreateAdd(e.read(3, type), difference));
}

// Four bytes by four bytes, or two halves by two of four bytes; the sides' signs may differ.
void dot_product(Emitter& e) {
    const bool halves = e.statement->words[0] == "dp2a";
    const Type first = e.take_type(), second = e.take_type();
    if (first.size() != 32 || second.size() != 32 || first.is_real() || second.is_real())
        e.refuse();
    e.want_operands(4);
    const auto part = halves ? e.take_any({"lo", "hi"}) : std::string_view("lo");
    if (part.empty())
        e.refuse("'.lo' or '.hi' is missing");
    const unsigned count = halves ? 2 : 4;
    const auto pieces = [&](std::size_t index, Type type, unsigned width) -> Value* {
        Value* word = e.read(index, type);
        if (halves && width == 8)
            word = e.build.CreateTrunc(part == "hi" ? e.build.CreateLShr(word, 16) : word,
                                       e.build.getInt16Ty());
        auto* split = e.build.CreateBitCast(
            word, llvm::FixedVectorType::get(e.build.getIntNTy(width), count));
        auto* wide = llvm::FixedVectorType::get(e.build.getInt32Ty(), count);
        return type.is_signed() ? e.build.CreateSExt(split, wide) : e.build.CreateZExt(split, wide);
    };
    auto* products = e.build.CreateMul(pieces(1, first, halves ? 16 : 8), pieces(2, second, 8));
    e.write(first, e.build.CreateAdd(e.build.CreateAddReduce(products), e.read(3, first)));
}

constexpr Instruction rows[] = {
    {"add", add_or_subtract},
    {"sub", add_or_subtract},
    {"addc", add_or_subtract},
    {"subc", add_or_subtract},
    {"mul", multiply},
    {"mad", multiply_add},
    {"madc", multiply_add},
    {"mul24", multiply_24},
    {"mad24", multiply_24},
    {"div", divide},
    {"rem", divide},
    {"abs", absolute_or_negative},
    {"neg", absolute_or_negative},
    {"min", least_or_greatest},
    {"max", least_or_greatest},
    {"sad", sum_of_differences},
    {"dp4a", dot_product},
    {"dp2a", dot_product},
};

} // namespace

Instructions arithmetic_instructions() { return rows; }

} // namespace quern::host::ptx
