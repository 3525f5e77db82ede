// SIMD in a word: vadd2 and vadd4 and their kin, all elements, in order.
#include "compiler/host/ptx/emitter.h"

namespace quern::host::ptx {
namespace {

// d = op(a, b) in each element, clamped with .sat, or the sum over the elements and c with .add.
// The results are one bit wider than the elements and signed, so every one of them is exact.
void word(Emitter& e) {
    const auto& name = e.statement->words[0];
    const unsigned lanes = name.back() == '4' ? 4 : 2, width = 32 / lanes;
    const std::string_view what(name.data(), name.size() - 1);
    const Type to = e.take_type(), first = e.take_type(), second = e.take_type();
    for (const Type type : {to, first, second})
        if (type.width != 32 || !type.is_integer() || type.kind == Type::bits)
            e.refuse();
    const bool saturates = e.take("sat"), adds = e.take("add");
    e.want_operands(4);
    auto* wide = llvm::FixedVectorType::get(e.build.getInt32Ty(), lanes);
    auto* narrow = llvm::FixedVectorType::get(e.build.getIntNTy(width), lanes);
    const auto pieces = [&](std::size_t index, Type type) {
        auto* split = e.build.CreateBitCast(e.read(index, type), narrow);
        return type.is_signed() ? e.build.CreateSExt(split, wide) : e.build.CreateZExt(split, wide);
    };
    auto *a = pieces(1, first), *b = pieces(2, second);
    const auto splat = [&](std::int64_t value) {
        return llvm::ConstantInt::get(wide, static_cast<std::uint64_t>(value), true);
    };
    Value* value;
    if (what == "vadd")
        value = e.build.CreateAdd(a, b);
    else if (what == "vsub")
        value = e.build.CreateSub(a, b);
    else if (what == "vabsdiff")
        value = e.intrinsic(llvm::Intrinsic::abs, {e.build.CreateSub(a, b), e.build.getFalse()});
    else if (what == "vavrg") // rounded away from zero
        value = e.build.CreateAShr(
            e.build.CreateAdd(
                e.build.CreateAdd(a, b),
                e.build.CreateZExt(e.build.CreateICmpSGE(e.build.CreateAdd(a, b), splat(0)), wide)),
            1);
    else
        value = e.intrinsic(what == "vmin" ? llvm::Intrinsic::smin : llvm::Intrinsic::smax, {a, b});
    if (saturates) {
        const std::int64_t span = std::int64_t{1} << width;
        value = e.intrinsic(llvm::Intrinsic::smax, {value, splat(to.is_signed() ? -span / 2 : 0)});
        value = e.intrinsic(llvm::Intrinsic::smin,
                            {value, splat((to.is_signed() ? span / 2 : span) - 1)});
    }
    if (adds)
        return e.write(to, e.build.CreateAdd(e.build.CreateAddReduce(value), e.read(3, to)));
    e.write(to, e.build.CreateBitCast(e.build.CreateTrunc(value, narrow), e.build.getInt32Ty()));
}

constexpr Instruction rows[] = {
    {"vadd2", word},     {"vadd4", word},     {"vsub2", word},  {"vsub4", word},
    {"vabsdiff2", word}, {"vabsdiff4", word}, {"vavrg2", word}, {"vavrg4", word},
    {"vmin2", word},     {"vmin4", word},     {"vmax2", word},  {"vmax4", word},
};

} // namespace

Instructions video_instructions() { return rows; }

} // namespace quern::host::ptx
