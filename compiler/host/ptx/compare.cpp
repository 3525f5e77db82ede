// Comparison and choice: setp, set, selp, slct, testp.
#include "compiler/host/ptx/emitter.h"
#include "compiler/host/ptx/real.h"
#include <llvm/ADT/FloatingPointMode.h>

namespace quern::host::ptx {
namespace {

using llvm::CmpInst;

struct Comparison {
    std::string_view name;
    CmpInst::Predicate of_signed, of_unsigned, of_real;
};
constexpr auto none = CmpInst::BAD_ICMP_PREDICATE;
constexpr Comparison comparisons[] = {
    {"eq", CmpInst::ICMP_EQ, CmpInst::ICMP_EQ, CmpInst::FCMP_OEQ},
    {"ne", CmpInst::ICMP_NE, CmpInst::ICMP_NE, CmpInst::FCMP_ONE},
    {"lt", CmpInst::ICMP_SLT, CmpInst::ICMP_ULT, CmpInst::FCMP_OLT},
    {"le", CmpInst::ICMP_SLE, CmpInst::ICMP_ULE, CmpInst::FCMP_OLE},
    {"gt", CmpInst::ICMP_SGT, CmpInst::ICMP_UGT, CmpInst::FCMP_OGT},
    {"ge", CmpInst::ICMP_SGE, CmpInst::ICMP_UGE, CmpInst::FCMP_OGE},
    {"lo", none, CmpInst::ICMP_ULT, none},
    {"ls", none, CmpInst::ICMP_ULE, none},
    {"hi", none, CmpInst::ICMP_UGT, none},
    {"hs", none, CmpInst::ICMP_UGE, none},
    {"equ", none, none, CmpInst::FCMP_UEQ},
    {"neu", none, none, CmpInst::FCMP_UNE},
    {"ltu", none, none, CmpInst::FCMP_ULT},
    {"leu", none, none, CmpInst::FCMP_ULE},
    {"gtu", none, none, CmpInst::FCMP_UGT},
    {"geu", none, none, CmpInst::FCMP_UGE},
    {"num", none, none, CmpInst::FCMP_ORD},
    {"nan", none, none, CmpInst::FCMP_UNO},
};

const Comparison& take_comparison(Emitter& e) {
    for (const auto& row : comparisons)
        if (e.take(row.name))
            return row;
    e.refuse("its comparison is missing");
}

Value* compare(Emitter& e, const Comparison& row, Type type, bool flushes, std::size_t first) {
    Value *a = e.read(first, type), *b = e.read(first + 1, type);
    if (flushes) {
        a = flush(e, type, a);
        b = flush(e, type, b);
    }
    const auto how = type.is_real()     ? row.of_real
                     : type.is_signed() ? row.of_signed
                                        : row.of_unsigned;
    if (how == none)
        e.refuse("'." + std::string(row.name) + "' does not compare this type");
    return e.build.CreateCmp(how, a, b);
}

Value* combine(Emitter& e, std::string_view how, Value* a, Value* b) {
    return how == "and"  ? e.build.CreateAnd(a, b)
           : how == "or" ? e.build.CreateOr(a, b)
                         : e.build.CreateXor(a, b);
}

void set_predicate(Emitter& e) {
    const auto& comparison = take_comparison(e);
    const auto joins = e.take_any({"and", "or", "xor"});
    const Type type = e.take_type();
    const bool flushes = e.take("ftz");
    e.want_operands(joins.empty() ? 3 : 4);
    Value* result = compare(e, comparison, type, flushes, 1);
    Value* other = nullptr;
    if (type.lanes == 2) { // p gets the lower element's answer, q the upper one's
        other = e.build.CreateExtractElement(result, std::uint64_t{1});
        result = e.build.CreateExtractElement(result, std::uint64_t{0});
    } else {
        other = e.build.CreateNot(result);
    }
    if (!joins.empty()) {
        auto* third = e.read_predicate(e.operand(3));
        result = combine(e, joins, result, third);
        other = combine(e, joins, other, third);
    }
    e.write_predicate(e.operand(0), result);
    if (!e.operand(0).also.empty())
        e.write_predicate(e.operand(0).also[0], other);
}

// All bits, or 1.0, where the comparison holds.
void set(Emitter& e) {
    const auto& comparison = take_comparison(e);
    const auto joins = e.take_any({"and", "or", "xor"});
    const Type result_type = e.take_type(), type = e.take_type();
    const bool flushes = e.take("ftz");
    e.want_operands(joins.empty() ? 3 : 4);
    Value* result = compare(e, comparison, type, flushes, 1);
    if (!joins.empty()) {
        Value* third = e.read_predicate(e.operand(3));
        if (type.lanes == 2)
            third = e.build.CreateVectorSplat(2, third);
        result = combine(e, joins, result, third);
    }
    auto* kind = result_type.value(e.context);
    if (type.lanes != result_type.lanes) { // set.f16x2 to .u32: a mask of each half
        Type halves{Type::unsigned_integer, 16, 2};
        if (result_type.size() != 32)
            e.refuse();
        auto* masks = e.build.CreateSExt(result, halves.value(e.context));
        return e.write(result_type, e.build.CreateBitCast(masks, kind));
    }
    e.write(result_type, result_type.is_real() ? e.build.CreateUIToFP(result, kind)
                                               : e.build.CreateSExt(result, kind));
}

void select(Emitter& e) {
    const Type type = e.take_type();
    e.want_operands(4);
    auto *a = e.read(1, type), *b = e.read(2, type);
    e.write(type, e.build.CreateSelect(e.read_predicate(e.operand(3)), a, b));
}

// a where c >= 0, else b.
void select_by_sign(Emitter& e) {
    const Type type = e.take_type(), by = e.take_type();
    const bool flushes = e.take("ftz");
    e.want_operands(4);
    auto *a = e.read(1, type), *b = e.read(2, type);
    Value* c = e.read(3, by);
    if (flushes)
        c = flush(e, by, c);
    auto* zero = llvm::Constant::getNullValue(c->getType());
    e.write(type, e.build.CreateSelect(by.is_real() ? e.build.CreateFCmpOGE(c, zero)
                                                    : e.build.CreateICmpSGE(c, zero),
                                       a, b));
}

void test(Emitter& e) {
    struct Row {
        std::string_view name;
        llvm::FPClassTest what;
    };
    constexpr Row kinds[] = {{"finite", llvm::fcFinite},
                             {"infinite", llvm::fcInf},
                             {"number", ~llvm::fcNan & llvm::fcAllFlags},
                             {"notanumber", llvm::fcNan},
                             {"normal", llvm::fcNormal},
                             {"subnormal", llvm::fcSubnormal}};
    for (const auto& row : kinds)
        if (e.take(row.name)) {
            const Type type = e.take_type();
            e.want_operands(2);
            auto* value = e.read(1, type);
            return e.write_predicate(
                e.operand(0),
                e.build.CreateIntrinsic(llvm::Intrinsic::is_fpclass, {value->getType()},
                                        {value, e.number(32, static_cast<unsigned>(row.what))}));
        }
    e.refuse();
}

constexpr Instruction rows[] = {
    {"setp", set_predicate},  {"set", set},    {"selp", select},
    {"slct", select_by_sign}, {"testp", test},
};

} // namespace

Instructions compare_instructions() { return rows; }

} // namespace quern::host::ptx
