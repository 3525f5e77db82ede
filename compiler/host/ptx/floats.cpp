// Floating-point arithmetic: f32, f64, and f16 and bf16 alone or in pairs.
#include "compiler/host/ptx/real.h"
#include <cmath>

namespace quern::host::ptx {
namespace {

using llvm::Intrinsic::ID;

Type single(const Type& like) { return {Type::real, 32, like.lanes}; }
Type wide(const Type& like) { return {Type::real, 64, like.lanes}; }

Value* magnitude(Emitter& e, Value* value) { return e.intrinsic(llvm::Intrinsic::fabs, {value}); }
Value* is_nan(Emitter& e, Value* value) { return e.build.CreateFCmpUNO(value, value); }

// A sum or product in double, made odd where it lost something: rounding once more is then right.
Value* make_odd(Emitter& e, Value* near, Value* lost) {
    auto* zero = llvm::Constant::getNullValue(near->getType());
    auto* type = llvm::cast<llvm::Type>(near->getType()->getWithNewType(e.build.getInt64Ty()));
    auto* bits = e.build.CreateBitCast(near, type);
    auto* even = e.build.CreateICmpEQ(e.build.CreateAnd(bits, llvm::ConstantInt::get(type, 1)),
                                      llvm::ConstantInt::get(type, 0));
    auto* away =
        e.build.CreateICmpEQ(e.build.CreateFCmpOGT(lost, zero), e.build.CreateFCmpOGT(near, zero));
    auto* moved =
        e.build.CreateSelect(away, e.build.CreateAdd(bits, llvm::ConstantInt::get(type, 1)),
                             e.build.CreateSub(bits, llvm::ConstantInt::get(type, 1)));
    auto* inexact = e.build.CreateAnd(e.build.CreateFCmpONE(lost, zero), even);
    return e.build.CreateBitCast(e.build.CreateSelect(inexact, moved, bits), near->getType());
}

// fma of halves or bfloats: the product is exact in double, and the sum is made odd.
Value* narrow_fma(Emitter& e, Type type, Value* a, Value* b, Value* c) {
    auto* real = wide(type).value(e.context);
    const auto widen = [&](Value* x) {
        return e.build.CreateFPExt(e.build.CreateFPExt(x, single(type).value(e.context)), real);
    };
    auto* product = e.build.CreateFMul(widen(a), widen(b));
    auto* addend = widen(c);
    auto* sum = e.build.CreateFAdd(product, addend);
    auto* back = e.build.CreateFSub(sum, product);
    auto* lost = e.build.CreateFAdd(e.build.CreateFSub(product, e.build.CreateFSub(sum, back)),
                                    e.build.CreateFSub(addend, back));
    return e.build.CreateFPTrunc(make_odd(e, sum, lost), type.value(e.context));
}

// Rounded otherwise than to nearest: device/ptx.cuh has these for f32 and f64.
Value* directed(Emitter& e, std::string_view name, std::string_view rounding, Type type,
                llvm::ArrayRef<Value*> arguments) {
    if (type.width < 32)
        e.refuse("'." + std::string(rounding) + "' is not supported for this type");
    return e.call("__quern_ptx_" + std::string(name) + "_" + std::string(rounding) + "_f" +
                      std::to_string(type.width),
                  arguments[0]->getType(), arguments);
}

struct Modifiers {
    std::string_view rounding;
    bool flushes, saturates, clips;
};

Modifiers take_modifiers(Emitter& e) {
    Modifiers m{take_rounding(e), e.take("ftz"), false, false};
    m.saturates = e.take("sat");
    m.clips = e.take("relu");
    return m;
}

void finish(Emitter& e, Type type, const Modifiers& m, Value* value) {
    if (m.flushes)
        value = flush(e, type, value);
    if (m.saturates)
        value = saturate(e, type, value);
    if (m.clips) { // below 0, and -0: +0; NaN stays one
        auto* zero = constant_real(e, type, 0);
        value = e.build.CreateSelect(e.build.CreateFCmpOLE(value, zero), zero, value);
    }
    e.write(type, value);
}

std::vector<Value*> read_all(Emitter& e, Type type, const Modifiers& m, std::size_t count) {
    e.want_operands(count + 1);
    std::vector<Value*> values;
    for (std::size_t i = 1; i <= count; ++i) {
        values.push_back(e.read(i, type));
        if (m.flushes)
            values.back() = flush(e, type, values.back());
    }
    return values;
}

void add_subtract_multiply(Emitter& e, Type type) {
    const auto& name = e.statement->words[0];
    const auto m = take_modifiers(e);
    const auto x = read_all(e, type, m, 2);
    if (!m.rounding.empty() && m.rounding != "rn")
        return finish(e, type, m, directed(e, name, m.rounding, type, x));
    finish(e, type, m,
           name == "add"   ? e.build.CreateFAdd(x[0], x[1])
           : name == "sub" ? e.build.CreateFSub(x[0], x[1])
                           : e.build.CreateFMul(x[0], x[1]));
}

void fused(Emitter& e, Type type) {
    const auto m = take_modifiers(e);
    const auto x = read_all(e, type, m, 3);
    if (!m.rounding.empty() && m.rounding != "rn")
        return finish(e, type, m, directed(e, "fma", m.rounding, type, x));
    finish(e, type, m,
           type.width == 16 ? narrow_fma(e, type, x[0], x[1], x[2])
                            : e.intrinsic(llvm::Intrinsic::fma, x));
}

void divide(Emitter& e, Type type) {
    if (e.take_any({"approx", "full"}).empty() && type.width < 32)
        e.refuse();
    const auto m = take_modifiers(e);
    const auto x = read_all(e, type, m, 2);
    finish(e, type, m,
           m.rounding.empty() || m.rounding == "rn" ? e.build.CreateFDiv(x[0], x[1])
                                                    : directed(e, "div", m.rounding, type, x));
}

void sign(Emitter& e, Type type) {
    const auto m = take_modifiers(e);
    const auto x = read_all(e, type, m, 1);
    finish(e, type, m,
           e.statement->words[0] == "neg" ? e.build.CreateFNeg(x[0]) : magnitude(e, x[0]));
}

// Numbers win over NaN, or lose with .NaN; -0 is less than +0.
Value* extreme(Emitter& e, Type type, bool least, bool keeps_nan, Value* a, Value* b) {
    auto* both = e.build.CreateAnd(is_nan(e, a), is_nan(e, b));
    auto* either = e.build.CreateOr(is_nan(e, a), is_nan(e, b));
    auto* strict = e.build.CreateSelect(
        least ? e.build.CreateFCmpOLT(a, b) : e.build.CreateFCmpOGT(a, b), a, b);
    // Equal ones differ in sign at most: the bits of both, or what they share.
    auto* bits = Type{Type::bits, type.width, type.lanes}.value(e.context);
    auto *left = e.build.CreateBitCast(a, bits), *right = e.build.CreateBitCast(b, bits);
    auto* same = e.build.CreateBitCast(
        least ? e.build.CreateOr(left, right) : e.build.CreateAnd(left, right), a->getType());
    Value* value = e.build.CreateSelect(e.build.CreateFCmpOEQ(a, b), same, strict);
    if (!keeps_nan) {
        value = e.build.CreateSelect(is_nan(e, a), b, value);
        value = e.build.CreateSelect(is_nan(e, b), a, value);
    }
    auto* canonical =
        e.build.CreateBitCast(llvm::ConstantInt::get(bits, type.width == 64   ? 0x7fffffffffffffff
                                                           : type.width == 32 ? 0x7fffffff
                                                                              : 0x7fff),
                              a->getType());
    return e.build.CreateSelect(keeps_nan ? either : both, canonical, value);
}

void least_or_greatest(Emitter& e, Type type) {
    const bool least = e.statement->words[0] == "min", keeps = e.take("NaN");
    const bool signs = e.take("xorsign");
    if (signs && !e.take("abs"))
        e.refuse();
    const auto m = take_modifiers(e);
    const auto count = e.operand_count() == 4 ? 3U : 2U;
    auto x = read_all(e, type, m, count);
    Value* sign = nullptr;
    if (signs) {
        auto* bits = Type{Type::bits, type.width, type.lanes}.value(e.context);
        sign = e.build.CreateBitCast(
            e.build.CreateXor(e.build.CreateBitCast(x[0], bits), e.build.CreateBitCast(x[1], bits)),
            x[0]->getType());
        for (auto& value : x)
            value = magnitude(e, value);
    }
    Value* value = extreme(e, type, least, keeps, x[0], x[1]);
    if (count == 3)
        value = extreme(e, type, least, keeps, value, x[2]);
    if (signs)
        value = e.intrinsic(llvm::Intrinsic::copysign, {value, sign});
    finish(e, type, m, value);
}

// rcp sqrt rsqrt sin cos lg2 ex2 tanh: the approximate ones are as good as libm's.
void function(Emitter& e) {
    const auto& name = e.statement->words[0];
    const Type type = e.take_type();
    const bool approximate = e.take("approx");
    const auto m = take_modifiers(e);
    if (!type.is_real() || (type.width == 64 && name != "rcp" && name != "sqrt" && name != "rsqrt"))
        e.refuse();
    const auto x = read_all(e, type, m, 1);
    if (!approximate && !m.rounding.empty() && m.rounding != "rn")
        return finish(e, type, m, directed(e, name, m.rounding, type, x));
    const Type work = type.width == 16 ? single(type) : type;
    Value* value = type.width == 16 ? e.build.CreateFPExt(x[0], work.value(e.context)) : x[0];
    const auto one = [&] { return constant_real(e, work, 1); };
    if (name == "rcp")
        value = e.build.CreateFDiv(one(), value);
    else if (name == "rsqrt")
        value = e.build.CreateFDiv(one(), e.intrinsic(llvm::Intrinsic::sqrt, {value}));
    else if (name == "tanh" && type.lanes == 1)
        value = e.call("tanhf", value->getType(), {value});
    else if (name == "tanh") {
        Value* both = llvm::PoisonValue::get(value->getType());
        for (std::uint64_t i = 0; i < type.lanes; ++i) {
            auto* part = e.build.CreateExtractElement(value, i);
            both = e.build.CreateInsertElement(both, e.call("tanhf", part->getType(), {part}), i);
        }
        value = both;
    } else {
        const ID id = name == "sqrt"  ? llvm::Intrinsic::sqrt
                      : name == "sin" ? llvm::Intrinsic::sin
                      : name == "cos" ? llvm::Intrinsic::cos
                      : name == "lg2" ? llvm::Intrinsic::log2
                                      : llvm::Intrinsic::exp2;
        value = e.intrinsic(id, {value});
    }
    if (type.width == 16)
        value = e.build.CreateFPTrunc(value, type.value(e.context));
    finish(e, type, m, value);
}

void fused_alone(Emitter& e) { fused(e, e.take_type()); }

// The magnitude of the second operand with the sign of the first.
void copy_sign(Emitter& e) {
    const Type type = e.take_type();
    e.want_operands(3);
    auto *from = e.read(1, type), *value = e.read(2, type);
    e.write(type, e.intrinsic(llvm::Intrinsic::copysign, {value, from}));
}

constexpr Instruction rows[] = {
    {"fma", fused_alone}, {"rcp", function},       {"sqrt", function}, {"rsqrt", function},
    {"sin", function},    {"cos", function},       {"lg2", function},  {"ex2", function},
    {"tanh", function},   {"copysign", copy_sign},
};

} // namespace

void emit_float(Emitter& e, Type type) {
    const auto& name = e.statement->words[0];
    if (name == "add" || name == "sub" || name == "mul")
        add_subtract_multiply(e, type);
    else if (name == "mad")
        fused(e, type);
    else if (name == "div")
        divide(e, type);
    else if (name == "abs" || name == "neg")
        sign(e, type);
    else if (name == "min" || name == "max")
        least_or_greatest(e, type);
    else
        e.refuse();
}

Instructions float_instructions() { return rows; }

Value* constant_real(Emitter& e, Type type, double value) {
    return llvm::ConstantFP::get(type.value(e.context), value);
}

Value* flush(Emitter& e, Type type, Value* value) {
    if (!type.is_real() || type.width == 64)
        e.refuse("'.ftz' is for f32 and f16");
    auto* tiny = e.build.CreateFCmpOLT(
        magnitude(e, value),
        constant_real(e, type,
                      std::ldexp(1.0, type.width == 16 && type.kind == Type::real ? -14 : -126)));
    return e.build.CreateSelect(
        tiny, e.intrinsic(llvm::Intrinsic::copysign, {constant_real(e, type, 0), value}), value);
}

Value* saturate(Emitter& e, Type type, Value* value) {
    auto *zero = constant_real(e, type, 0), *one = constant_real(e, type, 1);
    value = e.build.CreateSelect(e.build.CreateFCmpOGT(value, zero), value, zero);
    return e.build.CreateSelect(e.build.CreateFCmpOGT(value, one), one, value);
}

std::string_view take_rounding(Emitter& e) { return e.take_any({"rn", "rz", "rm", "rp"}); }

// The upper half of a float's bits: one more where what is cut off points away from zero.
static Value* cut_to_brain(Emitter& e, std::string_view rounding, Value* value) {
    auto* bits = e.build.CreateBitCast(value, e.build.getInt32Ty());
    auto* lost = e.build.CreateICmpNE(e.build.CreateAnd(bits, 0xffff), e.number(32, 0));
    auto* negative = e.build.CreateICmpSLT(bits, e.number(32, 0));
    auto* outward = rounding == "rz"   ? e.build.getFalse()
                    : rounding == "rm" ? e.build.CreateAnd(lost, negative)
                                       : e.build.CreateAnd(lost, e.build.CreateNot(negative));
    auto* upper = e.build.CreateAdd(e.build.CreateLShr(bits, 16),
                                    e.build.CreateZExt(outward, e.build.getInt32Ty()));
    auto* result = e.build.CreateSelect(is_nan(e, value), e.number(32, 0x7fff), upper);
    return e.build.CreateBitCast(e.build.CreateTrunc(result, e.build.getInt16Ty()),
                                 llvm::Type::getBFloatTy(e.context));
}

Value* narrow(Emitter& e, Type from, Type to, std::string_view rounding, Value* value) {
    if (rounding.empty() || rounding == "rn")
        return e.build.CreateFPTrunc(value, to.value(e.context));
    if (to.kind == Type::brain) {
        if (from.width != 32)
            e.refuse();
        return cut_to_brain(e, rounding, value);
    }
    auto* near = e.build.CreateFPTrunc(value, to.value(e.context));
    // One step back where the nearest lies on the wrong side. Bits count away from zero.
    auto* back = e.build.CreateFPExt(near, from.value(e.context));
    auto* type = e.build.getIntNTy(to.width);
    auto* bits = e.build.CreateBitCast(near, type);
    auto* negative = e.build.CreateICmpSLT(bits, llvm::ConstantInt::get(type, 0));
    Value* wrong;
    if (rounding == "rz")
        wrong = e.build.CreateFCmpOGT(magnitude(e, back), magnitude(e, value));
    else
        wrong = rounding == "rm" ? e.build.CreateFCmpOGT(back, value)
                                 : e.build.CreateFCmpOLT(back, value);
    auto* step = llvm::ConstantInt::getSigned(type, 1);
    auto *outward = e.build.CreateAdd(bits, step), *inward = e.build.CreateSub(bits, step);
    auto* moved = rounding == "rz"   ? inward
                  : rounding == "rm" ? e.build.CreateSelect(negative, outward, inward)
                                     : e.build.CreateSelect(negative, inward, outward);
    return e.build.CreateBitCast(e.build.CreateSelect(wrong, moved, bits), near->getType());
}

} // namespace quern::host::ptx
