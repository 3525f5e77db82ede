// Bits: logic, shifts, fields, counts, bytes in any order.
#include "compiler/host/ptx/emitter.h"
#include <array>

namespace quern::host::ptx {
namespace {

// The shift by a 32-bit amount that may be past the width: then nothing, or the sign, is left. The
// amount is masked so that no later pass clamps it once more.
Value* shift(Emitter& e, llvm::Instruction::BinaryOps how, Value* value, Value* amount) {
    auto* type = value->getType();
    const unsigned width = type->getIntegerBitWidth();
    auto* wide = e.build.CreateZExtOrTrunc(amount, type);
    auto* limit = llvm::ConstantInt::get(amount->getType(), width);
    auto* inside = e.build.CreateICmpULT(amount, limit);
    auto* shifted = e.build.CreateBinOp(
        how, value, e.build.CreateAnd(wide, llvm::ConstantInt::get(type, width - 1)));
    auto* past = how == llvm::Instruction::AShr
                     ? e.build.CreateAShr(value, llvm::ConstantInt::get(type, width - 1))
                     : llvm::ConstantInt::get(type, 0);
    return e.build.CreateSelect(inside, shifted, past);
}
constexpr auto left = llvm::Instruction::Shl;
constexpr auto logical_right = llvm::Instruction::LShr;
constexpr auto right = llvm::Instruction::AShr;
constexpr Type u32{Type::unsigned_integer, 32};

// Lengths and positions of fields are one byte of their register.
Value* read_byte(Emitter& e, std::size_t index) {
    return e.build.CreateAnd(e.read(index, u32), 0xff);
}

// 1, length times, from bit 0 up.
Value* ones(Emitter& e, Value* length, llvm::Type* type) {
    auto* one = llvm::ConstantInt::get(type, 1);
    return e.build.CreateSub(shift(e, left, one, length), one);
}

Type take_integer(Emitter& e) {
    const Type type = e.take_type();
    if (type.is_real())
        e.refuse("it works on bits");
    return type;
}

void logic(Emitter& e) {
    const auto& name = e.statement->words[0];
    const Type type = take_integer(e);
    if (type.kind == Type::predicate) {
        e.want_operands(name == "not" ? 2 : 3);
        auto* a = e.read_predicate(e.operand(1));
        if (name == "not")
            return e.write_predicate(e.operand(0), e.build.CreateNot(a));
        auto* b = e.read_predicate(e.operand(2));
        return e.write_predicate(e.operand(0), name == "and"  ? e.build.CreateAnd(a, b)
                                               : name == "or" ? e.build.CreateOr(a, b)
                                                              : e.build.CreateXor(a, b));
    }
    if (name == "not" || name == "cnot") {
        e.want_operands(2);
        auto* a = e.read(1, type);
        e.write(type, name == "not"
                          ? e.build.CreateNot(a)
                          : e.build.CreateZExt(e.build.CreateICmpEQ(a, e.constant(type, 0)),
                                               a->getType()));
        return;
    }
    e.want_operands(3);
    auto *a = e.read(1, type), *b = e.read(2, type);
    e.write(type, name == "and"  ? e.build.CreateAnd(a, b)
                  : name == "or" ? e.build.CreateOr(a, b)
                                 : e.build.CreateXor(a, b));
}

void shift_left_or_right(Emitter& e) {
    const Type type = take_integer(e);
    e.want_operands(3);
    const bool to_left = e.statement->words[0] == "shl";
    e.write(type, shift(e,
                        to_left            ? left
                        : type.is_signed() ? right
                                           : logical_right,
                        e.read(1, type), e.read(2, u32)));
}

void funnel(Emitter& e) {
    const bool to_left = e.take_any({"l", "r"}) == "l";
    const bool wraps = e.take_any({"wrap", "clamp"}) == "wrap";
    const Type type = take_integer(e);
    e.want_operands(4);
    auto *low = e.read(1, type), *high = e.read(2, type), *amount = e.read(3, type);
    Value* value = to_left ? e.intrinsic(llvm::Intrinsic::fshl, {high, low, amount})
                           : e.intrinsic(llvm::Intrinsic::fshr, {high, low, amount});
    if (!wraps)
        value = e.build.CreateSelect(e.build.CreateICmpULT(amount, e.constant(type, 32)), value,
                                     to_left ? low : high);
    e.write(type, value);
}

// The function of two bits whose table is `table`: bit 2b + c.
Value* of_two(Emitter& e, unsigned table, Value* b, Value* c) {
    const auto invert = [&](Value* x) { return e.build.CreateNot(x); };
    switch (table) {
    case 0b0000:
        return e.number(32, 0);
    case 0b1000:
        return e.build.CreateAnd(b, c);
    case 0b0100:
        return e.build.CreateAnd(b, invert(c));
    case 0b0010:
        return e.build.CreateAnd(invert(b), c);
    case 0b1100:
        return b;
    case 0b1010:
        return c;
    case 0b0110:
        return e.build.CreateXor(b, c);
    case 0b1110:
        return e.build.CreateOr(b, c);
    default:
        return invert(of_two(e, table ^ 0xf, b, c));
    }
}

void lookup(Emitter& e) {
    const Type type = take_integer(e);
    e.want_operands(5);
    auto *a = e.read(1, type), *b = e.read(2, type), *c = e.read(3, type);
    const auto table = static_cast<std::uint64_t>(e.read_constant(e.operand(4)));
    if (table > 255)
        e.refuse("its table is a number of 0 to 255");
    auto* with = of_two(e, static_cast<unsigned>(table >> 4), b, c);
    auto* without = of_two(e, static_cast<unsigned>(table & 15), b, c);
    e.write(type, with == without
                      ? with
                      : e.build.CreateOr(e.build.CreateAnd(a, with),
                                         e.build.CreateAnd(e.build.CreateNot(a), without)));
}

void extract_field(Emitter& e) {
    const Type type = take_integer(e);
    e.want_operands(4);
    auto *value = e.read(1, type), *at = read_byte(e, 2), *length = read_byte(e, 3);
    // The field to the top, then down again: above the highest bit both fill with the sign.
    auto* low = shift(e, type.is_signed() ? right : logical_right, value, at);
    if (!type.is_signed())
        return e.write(type, e.build.CreateAnd(low, ones(e, length, value->getType())));
    auto* spare = e.intrinsic(llvm::Intrinsic::usub_sat, {e.number(32, type.width), length});
    e.write(type, shift(e, right, shift(e, left, low, spare), spare));
}

void insert_field(Emitter& e) {
    const Type type = take_integer(e);
    e.want_operands(5);
    auto *field = e.read(1, type), *into = e.read(2, type);
    auto *at = read_byte(e, 3), *length = read_byte(e, 4);
    auto* mask = shift(e, left, ones(e, length, field->getType()), at);
    e.write(type, e.build.CreateOr(e.build.CreateAnd(into, e.build.CreateNot(mask)),
                                   e.build.CreateAnd(shift(e, left, field, at), mask)));
}

void reverse(Emitter& e) {
    const Type type = take_integer(e);
    e.want_operands(2);
    e.write(type, e.intrinsic(llvm::Intrinsic::bitreverse, {e.read(1, type)}));
}

// popc, clz: 32 bits, whatever they count in.
void count(Emitter& e) {
    const Type type = take_integer(e);
    e.want_operands(2);
    auto* value = e.read(1, type);
    auto* result = e.statement->words[0] == "popc"
                       ? e.intrinsic(llvm::Intrinsic::ctpop, {value})
                       : e.intrinsic(llvm::Intrinsic::ctlz, {value, e.build.getFalse()});
    e.write(u32, e.build.CreateZExtOrTrunc(result, e.build.getInt32Ty()));
}

// The highest bit that is not the sign; all ones if there is none.
void find_highest(Emitter& e) {
    const bool amount = e.take("shiftamt");
    const Type type = take_integer(e);
    e.want_operands(2);
    Value* value = e.read(1, type);
    if (type.is_signed())
        value = e.build.CreateXor(value, e.build.CreateAShr(value, type.width - 1));
    auto* zeros = e.build.CreateZExtOrTrunc(
        e.intrinsic(llvm::Intrinsic::ctlz, {value, e.build.getFalse()}), e.build.getInt32Ty());
    auto* none = e.build.CreateICmpEQ(value, e.constant(type, 0));
    auto* found = amount ? zeros : e.build.CreateSub(e.number(32, type.width - 1), zeros);
    e.write(u32, e.build.CreateSelect(none, e.number(32, ~0U), found));
}

void find_nth(Emitter& e) {
    const Type type = take_integer(e);
    e.want_operands(4);
    e.write(type, e.call("__quern_ptx_fns", e.build.getInt32Ty(),
                         {e.read(1, type), e.read(2, type), e.read(3, type)}));
}

// Where the selectors of prmt's modes take their four bytes from, for each of four settings.
struct Mode {
    std::string_view name;
    std::array<std::uint16_t, 4> selectors;
};
constexpr Mode modes[] = {
    {"f4e", {0x3210, 0x4321, 0x5432, 0x6543}}, {"b4e", {0x5670, 0x6701, 0x7012, 0x0123}},
    {"rc8", {0x0000, 0x1111, 0x2222, 0x3333}}, {"ecl", {0x3210, 0x3211, 0x3222, 0x3333}},
    {"ecr", {0x0000, 0x1110, 0x2210, 0x3210}}, {"rc16", {0x1010, 0x3232, 0x1010, 0x3232}},
};

void permute(Emitter& e) {
    const Type type = take_integer(e);
    e.want_operands(4);
    auto *a = e.read(1, type), *b = e.read(2, type);
    Value* selector = e.read(3, type);
    auto* wide = e.build.getInt64Ty();
    bool general = true;
    for (const auto& mode : modes)
        if (e.take(mode.name)) {
            std::uint64_t all = 0;
            for (unsigned i = 0; i < 4; ++i)
                all |= std::uint64_t{mode.selectors[i]} << (16 * i);
            auto* at =
                e.build.CreateZExt(e.build.CreateShl(e.build.CreateAnd(selector, 3), 4), wide);
            selector = e.build.CreateTrunc(
                e.build.CreateLShr(e.number(64, all), e.build.CreateAnd(at, 63)),
                e.build.getInt32Ty());
            general = false;
        }
    auto* bytes = e.build.CreateOr(e.build.CreateZExt(a, wide),
                                   e.build.CreateShl(e.build.CreateZExt(b, wide), 32));
    Value* result = e.number(32, 0);
    for (unsigned i = 0; i < 4; ++i) {
        auto* choice = e.build.CreateLShr(selector, 4 * i);
        auto* at = e.build.CreateZExt(e.build.CreateShl(e.build.CreateAnd(choice, 7), 3), wide);
        Value* byte = e.build.CreateTrunc(e.build.CreateLShr(bytes, e.build.CreateAnd(at, 63)),
                                          e.build.getInt8Ty());
        if (general) // bit 3: the byte's sign, eight times
            byte = e.build.CreateSelect(
                e.build.CreateICmpNE(e.build.CreateAnd(choice, 8), e.number(32, 0)),
                e.build.CreateAShr(byte, 7), byte);
        result = e.build.CreateOr(
            result, e.build.CreateShl(e.build.CreateZExt(byte, e.build.getInt32Ty()), 8 * i));
    }
    e.write(type, result);
}

// szext: the low bits as a number of their own; bmsk: ones from a place. `wrap` counts modulo 32.
Value* read_count(Emitter& e, std::size_t index, bool wraps) {
    auto* count = e.read(index, u32);
    return wraps ? e.build.CreateAnd(count, 31) : count;
}

void extend_low(Emitter& e) {
    const bool wraps = e.take_any({"wrap", "clamp"}) == "wrap";
    const Type type = take_integer(e);
    e.want_operands(3);
    auto *value = e.read(1, type), *length = read_count(e, 2, wraps);
    if (!type.is_signed())
        return e.write(type, e.build.CreateAnd(value, ones(e, length, value->getType())));
    auto* spare = e.intrinsic(llvm::Intrinsic::usub_sat, {e.number(32, 32), length});
    e.write(type, shift(e, right, shift(e, left, value, spare), spare));
}

void mask(Emitter& e) {
    const bool wraps = e.take_any({"wrap", "clamp"}) == "wrap";
    const Type type = take_integer(e);
    e.want_operands(3);
    auto *at = read_count(e, 1, wraps), *length = read_count(e, 2, wraps);
    e.write(type, shift(e, left, ones(e, length, e.build.getInt32Ty()), at));
}

constexpr Instruction rows[] = {
    {"and", logic},
    {"or", logic},
    {"xor", logic},
    {"not", logic},
    {"cnot", logic},
    {"shl", shift_left_or_right},
    {"shr", shift_left_or_right},
    {"shf", funnel},
    {"lop3", lookup},
    {"bfe", extract_field},
    {"bfi", insert_field},
    {"brev", reverse},
    {"popc", count},
    {"clz", count},
    {"bfind", find_highest},
    {"fns", find_nth},
    {"prmt", permute},
    {"szext", extend_low},
    {"bmsk", mask},
};

} // namespace

Instructions bit_instructions() { return rows; }

} // namespace quern::host::ptx
