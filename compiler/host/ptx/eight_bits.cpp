// cvt to and from floats of eight bits, which come in pairs; device/ptx.cuh knows the formats.
#include "compiler/host/ptx/real.h"

namespace quern::host::ptx {
namespace {

const Type single{Type::real, 32}, half{Type::real, 16}, word{Type::bits, 16}, byte{Type::bits, 8};

Value* clip(Emitter& e, bool clips, Value* value) { // .relu
    auto* zero = constant_real(e, single, 0);
    return clips ? e.build.CreateSelect(e.build.CreateFCmpOLE(value, zero), zero, value) : value;
}

Value* to_eight(Emitter& e, const std::string& format, Value* value) {
    return e.build.CreateZExt(e.call("__quern_ptx_to_" + format, byte.value(e.context), {value}),
                              word.value(e.context));
}

Value* from_eight(Emitter& e, const std::string& format, Value* bits) {
    return e.call("__quern_ptx_from_" + format, single.value(e.context),
                  {e.build.CreateTrunc(bits, byte.value(e.context))});
}

} // namespace

bool convert_eight_bits(Emitter& e) {
    const auto pair = e.take_any({"e4m3x2", "e5m2x2"});
    if (pair.empty())
        return false;
    const std::string format(pair.substr(0, 4));
    const bool narrows = e.take("satfinite");
    if (take_rounding(e) != "rn")
        e.refuse("it wants .rn");
    const bool clips = e.take("relu");
    const Type other = e.take_type();
    const bool is_pair = other.kind == Type::real && other.width == 16 && other.lanes == 2;
    Value* low;
    Value* high;
    if (narrows) {
        if (is_pair) {
            e.want_operands(2);
            auto* wide = e.build.CreateFPExt(
                e.read(1, other), llvm::FixedVectorType::get(single.value(e.context), 2));
            low = e.build.CreateExtractElement(wide, std::uint64_t{0});
            high = e.build.CreateExtractElement(wide, std::uint64_t{1});
        } else {
            if (other.kind != Type::real || other.size() != 32)
                e.refuse();
            e.want_operands(3); // the first becomes the upper byte
            high = e.read(1, single);
            low = e.read(2, single);
        }
        high = e.build.CreateShl(to_eight(e, format, clip(e, clips, high)), 8);
        e.write(word, e.build.CreateOr(high, to_eight(e, format, clip(e, clips, low))));
        return true;
    }
    if (!is_pair)
        e.refuse("it wants .satfinite, or .f16x2 to convert to");
    e.want_operands(2);
    auto* bits = e.read(1, word);
    low = clip(e, clips, from_eight(e, format, bits));
    high = clip(e, clips, from_eight(e, format, e.build.CreateLShr(bits, 8)));
    Value* both = llvm::PoisonValue::get(other.value(e.context));
    for (std::uint64_t i = 0; i < 2; ++i) // every one of them is a half
        both = e.build.CreateInsertElement(
            both, e.build.CreateFPTrunc(i ? high : low, half.value(e.context)), i);
    e.write(other, both);
    return true;
}

} // namespace quern::host::ptx
