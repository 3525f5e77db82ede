// mov (packing and unpacking words too), cvt in every rounding, cvta.
#include "compiler/host/ptx/real.h"

namespace quern::host::ptx {
namespace {

void move(Emitter& e) {
    const Type type = e.take_type();
    e.want_operands(2);
    if (type.kind == Type::predicate)
        return e.write_predicate(e.operand(0), e.read_predicate(e.operand(1)));
    const auto &to = e.operand(0), &from = e.operand(1);
    const auto piece = [&](const Operand& vector) {
        const auto count = static_cast<unsigned>(vector.parts.size());
        if (type.width % count != 0 || type.width / count < 8)
            e.refuse("a word does not split into " + std::to_string(count) + " registers");
        return Type{Type::bits, type.width / count};
    };
    auto* whole = e.build.getIntNTy(type.size());
    if (to.kind == Operand::vector) {
        const Type part = piece(to);
        auto* word = e.build.CreateBitCast(e.read(from, type), whole);
        for (unsigned i = 0; i < to.parts.size(); ++i)
            e.write(to.parts[i], part,
                    e.build.CreateTrunc(e.build.CreateLShr(word, i * part.width),
                                        part.value(e.context)));
        return;
    }
    if (from.kind == Operand::vector) {
        const Type part = piece(from);
        Value* word = llvm::ConstantInt::get(whole, 0);
        for (unsigned i = 0; i < from.parts.size(); ++i)
            word = e.build.CreateOr(
                word, e.build.CreateShl(e.build.CreateZExt(e.read(from.parts[i], part), whole),
                                        i * part.width));
        return e.write(type, word);
    }
    e.write(type, e.read(from, type));
}

// --- cvt ---

Value* clamp_integer(Emitter& e, Type from, Type to, Value* value) {
    // In one bit more than either has, every limit fits and compares as signed.
    const unsigned width = std::max(from.width, to.width) + 1;
    auto* wide = e.build.getIntNTy(width);
    value = from.is_signed() ? e.build.CreateSExt(value, wide) : e.build.CreateZExt(value, wide);
    const auto least = to.is_signed() ? llvm::APInt::getSignedMinValue(to.width).sext(width)
                                      : llvm::APInt::getZero(width);
    const auto most = to.is_signed() ? llvm::APInt::getSignedMaxValue(to.width).sext(width)
                                     : llvm::APInt::getMaxValue(to.width).zext(width);
    value = e.intrinsic(llvm::Intrinsic::smax, {value, llvm::ConstantInt::get(wide, least)});
    value = e.intrinsic(llvm::Intrinsic::smin, {value, llvm::ConstantInt::get(wide, most)});
    return e.build.CreateTrunc(value, to.value(e.context));
}

Value* integer_to_integer(Emitter& e, Type from, Type to, bool saturates, Value* value) {
    if (saturates)
        return clamp_integer(e, from, to, value);
    auto* type = to.value(e.context);
    return from.is_signed() ? e.build.CreateSExtOrTrunc(value, type)
                            : e.build.CreateZExtOrTrunc(value, type);
}

// Integers get as many bits as the float holds; what is cut off decides about one step, or makes
// the last bit odd where a narrower type follows.
Value* integer_to_float(Emitter& e, Type from, Type to, std::string_view rounding, Value* value) {
    auto* type = to.value(e.context);
    const bool narrows = to.width == 16;
    if (rounding.empty())
        e.refuse("it wants a rounding: .rn, .rz, .rm or .rp");
    if (rounding == "rn" && !narrows)
        return from.is_signed() ? e.build.CreateSIToFP(value, type)
                                : e.build.CreateUIToFP(value, type);
    const Type work = narrows ? Type{Type::real, 32} : to;
    auto* wide = e.build.getInt64Ty();
    auto* zero = e.number(64, 0);
    auto* number =
        from.is_signed() ? e.build.CreateSExt(value, wide) : e.build.CreateZExt(value, wide);
    Value* negative = from.is_signed() ? e.build.CreateICmpSLT(number, zero) : e.build.getFalse();
    auto* size = e.build.CreateSelect(negative, e.build.CreateNeg(number), number);
    auto* zeros = e.intrinsic(llvm::Intrinsic::ctlz, {size, e.build.getFalse()});
    auto* spare = e.intrinsic(llvm::Intrinsic::usub_sat,
                              {e.number(64, work.width == 64 ? 64 - 53 : 64 - 24), zeros});
    auto* step = e.build.CreateShl(e.number(64, 1), e.build.CreateAnd(spare, 63));
    auto* low = e.build.CreateSub(step, e.number(64, 1));
    auto* lost = e.build.CreateICmpNE(e.build.CreateAnd(size, low), zero);
    Value* kept = e.build.CreateAnd(size, e.build.CreateNot(low));
    if (narrows)
        kept = e.build.CreateOr(kept, e.build.CreateSelect(lost, step, zero));
    Value* result = e.build.CreateUIToFP(kept, work.value(e.context));
    if (!narrows && rounding != "rz") {
        auto* bits = e.build.getIntNTy(work.width);
        auto* outward =
            e.build.CreateAnd(lost, rounding == "rm" ? negative : e.build.CreateNot(negative));
        result = e.build.CreateBitCast(e.build.CreateAdd(e.build.CreateBitCast(result, bits),
                                                         e.build.CreateZExt(outward, bits)),
                                       work.value(e.context));
    }
    result = e.build.CreateSelect(negative, e.build.CreateFNeg(result), result);
    return narrows ? narrow(e, work, to, rounding, result) : result;
}

Value* round_to_integer(Emitter& e, std::string_view rounding, Value* value) {
    return e.intrinsic(rounding == "rni"   ? llvm::Intrinsic::roundeven
                       : rounding == "rzi" ? llvm::Intrinsic::trunc
                       : rounding == "rmi" ? llvm::Intrinsic::floor
                                           : llvm::Intrinsic::ceil,
                       {value});
}

// Out of range and NaN: the later pass that gives C++ casts their meaning sees to it.
Value* float_to_integer(Emitter& e, Type to, std::string_view rounding, Value* value) {
    if (rounding.empty())
        e.refuse("it wants a rounding: .rni, .rzi, .rmi or .rpi");
    value = round_to_integer(e, rounding, value);
    const Type step{to.kind, std::max(to.width, 32U)};
    auto* type = step.value(e.context);
    value = to.is_signed() ? e.build.CreateFPToSI(value, type) : e.build.CreateFPToUI(value, type);
    return to.width < 32 ? clamp_integer(e, step, to, value) : value;
}

Value* to_single(Emitter& e, Type& type, Value* value) {
    if (type.width != 16)
        return value;
    type = {Type::real, 32};
    return e.build.CreateFPExt(value, type.value(e.context));
}

Value* float_to_float(Emitter& e, Type from, Type to, std::string_view rounding, Value* value) {
    if (from.kind == to.kind && from.width == to.width)
        return value;
    if (from.width == 16) {
        value = to_single(e, from, value);
        if (to.width == 32)
            return value;
    }
    if (to.width > from.width)
        return e.build.CreateFPExt(value, to.value(e.context));
    if (rounding.empty())
        e.refuse("it wants a rounding: .rn, .rz, .rm or .rp");
    return narrow(e, from, to, rounding, value);
}

// f32 with 10 bits of mantissa, in a 32-bit word.
void to_tf32(Emitter& e) {
    const auto rounding = e.take_any({"rna", "rn", "rz"});
    const Type type = e.take_type();
    if (type.kind != Type::real || type.width != 32 || rounding.empty())
        e.refuse();
    e.want_operands(2);
    auto* value = e.read(1, type);
    auto* bits = e.build.CreateBitCast(value, e.build.getInt32Ty());
    Value* up = e.number(32, rounding == "rna" ? 0x1000 : 0);
    if (rounding == "rn")
        up = e.build.CreateAdd(e.number(32, 0xfff),
                               e.build.CreateAnd(e.build.CreateLShr(bits, 13), 1));
    auto* rounded = e.build.CreateAnd(e.build.CreateAdd(bits, up), ~0x1fffU);
    auto* special =
        e.build.CreateICmpEQ(e.build.CreateAnd(bits, 0x7f800000), e.number(32, 0x7f800000));
    auto* as_is =
        e.build.CreateSelect(e.build.CreateFCmpUNO(value, value), e.number(32, 0x7fffffff), bits);
    e.write({Type::bits, 32}, e.build.CreateSelect(special, as_is, rounded));
}

// Two integers clamped and laid side by side, below what the third holds.
void pack(Emitter& e) {
    if (!e.take("sat"))
        e.refuse();
    const Type to = e.take_type(), from = e.take_type();
    const Type u32{Type::bits, 32};
    if (from.kind != Type::signed_integer || from.width != 32 || !to.is_integer() || to.width > 16)
        e.refuse();
    if (to.width == 8)
        e.take("b32");
    e.want_operands(to.width == 8 ? 4 : 3);
    const auto part = [&](std::size_t index) {
        return e.build.CreateZExt(clamp_integer(e, from, to, e.read(index, from)),
                                  e.build.getInt32Ty());
    };
    Value* word = e.build.CreateOr(e.build.CreateShl(part(1), to.width), part(2));
    if (to.width == 8)
        word = e.build.CreateOr(e.build.CreateShl(e.read(3, u32), 16), word);
    e.write(u32, word);
}

struct Modifiers {
    std::string_view whole, rounding;
    bool flushes, saturates, clips;
};

// From one scalar to another.
Value* convert_one(Emitter& e, const Modifiers& m, Type from, Type to, Value* value) {
    if (!from.is_real()) {
        if (!to.is_real())
            return integer_to_integer(e, from, to, m.saturates, value);
        value = integer_to_float(e, from, to, m.rounding, value);
        return m.saturates ? saturate(e, to, value) : value;
    }
    if (m.flushes && from.width == 32)
        value = flush(e, from, value);
    if (!to.is_real())
        return float_to_integer(e, to, m.whole, to_single(e, from, value));
    if (!m.whole.empty()) {
        const Type original = from;
        value = round_to_integer(e, m.whole, to_single(e, from, value));
        if (original.width == 16)
            value = e.build.CreateFPTrunc(value, original.value(e.context));
        from = original;
    }
    value = float_to_float(e, from, to, m.rounding, value);
    if (m.flushes && to.width == 32)
        value = flush(e, to, value);
    if (m.saturates)
        value = saturate(e, to, value);
    if (m.clips)
        value = e.build.CreateSelect(e.build.CreateFCmpOLE(value, constant_real(e, to, 0)),
                                     constant_real(e, to, 0), value);
    return value;
}

void convert(Emitter& e) {
    if (e.take("tf32"))
        return to_tf32(e);
    if (e.take("pack"))
        return pack(e);
    if (convert_eight_bits(e))
        return;
    const Modifiers m{e.take_any({"rni", "rzi", "rmi", "rpi"}), take_rounding(e), e.take("ftz"),
                      e.take("sat"), e.take("relu")};
    const Type to = e.take_type(), from = e.take_type();
    if (to.lanes == 2) { // two floats to a pair: the first becomes the upper half
        if (from.kind != Type::real || from.width != 32)
            e.refuse();
        e.want_operands(3);
        Type half = to;
        half.lanes = 1;
        Value* both = llvm::PoisonValue::get(to.value(e.context));
        for (std::uint64_t i = 0; i < 2; ++i)
            both = e.build.CreateInsertElement(
                both, convert_one(e, m, from, half, e.read(e.operand(2 - i), from)), i);
        return e.write(to, both);
    }
    if (from.lanes != 1 || from.kind == Type::predicate || to.kind == Type::predicate)
        e.refuse();
    e.want_operands(2);
    e.write(e.operand(0), to, convert_one(e, m, from, to, e.read(e.operand(1), from, true)), true);
}

// Every address is generic already, but for shared memory, which counts from its own start.
void convert_address(Emitter& e) {
    const bool from_generic = e.take("to");
    const auto space = e.take_any({"global", "shared", "shared::cta", "local", "const"});
    const Type type = e.take_type();
    if (space.empty() || type.size() != 64)
        e.refuse();
    e.want_operands(2);
    auto* address = e.read(1, type);
    if (!space.starts_with("shared"))
        return e.write(type, address);
    auto* base = e.build.CreatePtrToInt(e.shared_base(), e.build.getInt64Ty());
    e.write(type,
            from_generic ? e.build.CreateSub(address, base) : e.build.CreateAdd(address, base));
}

// Which memory a generic address is of: spaces.cpp knows.
void is_space(Emitter& e) {
    constexpr std::string_view spaces[] = {"shared", "local", "const", "global"};
    std::uint64_t space = 0;
    if (!e.take("shared::cta") && !e.take("shared::cluster"))
        while (!e.take(spaces[space]))
            if (++space == std::size(spaces))
                e.refuse();
    e.want_operands(2);
    auto* address = e.build.CreateIntToPtr(e.read(1, Type{Type::bits, 64}), e.build.getPtrTy());
    e.write_predicate(e.operand(0),
                      e.call(space_question, e.build.getInt1Ty(), {address, e.number(32, space)}));
}

constexpr Instruction rows[] = {
    {"mov", move}, {"cvt", convert}, {"cvta", convert_address}, {"isspacep", is_space}};

} // namespace

Instructions convert_instructions() { return rows; }

} // namespace quern::host::ptx
