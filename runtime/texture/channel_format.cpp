// One table of the types that channels have.
#include "runtime/texture/channel_format.h"

#include "compiler/base/error.h"
#include "compiler/base/text.h"

#include <algorithm>

namespace quern {
namespace {

struct Row {
    ChannelKind kind;
    int bits;
    DType dtype;
    CUarray_format format;
};
constexpr Row rows[] = {
    {ChannelKind::signed_integer, 8, DType::int8, CU_AD_FORMAT_SIGNED_INT8},
    {ChannelKind::signed_integer, 16, DType::int16, CU_AD_FORMAT_SIGNED_INT16},
    {ChannelKind::signed_integer, 32, DType::int32, CU_AD_FORMAT_SIGNED_INT32},
    {ChannelKind::unsigned_integer, 8, DType::uint8, CU_AD_FORMAT_UNSIGNED_INT8},
    {ChannelKind::unsigned_integer, 16, DType::uint16, CU_AD_FORMAT_UNSIGNED_INT16},
    {ChannelKind::unsigned_integer, 32, DType::uint32, CU_AD_FORMAT_UNSIGNED_INT32},
    {ChannelKind::floating, 16, DType::float16, CU_AD_FORMAT_HALF},
    {ChannelKind::floating, 32, DType::float32, CU_AD_FORMAT_FLOAT},
};

} // namespace

ChannelFormat::ChannelFormat(const std::array<int, 4>& bits, int kind)
    : bits_(bits), kind_(static_cast<ChannelKind>(kind)) {
    const std::string asked = join("ChannelFormatDescriptor(", bits[0], ", ", bits[1], ", ",
                                   bits[2], ", ", bits[3], ", ", kind, ")");
    while (channels_ < 4 && bits[channels_] != 0)
        ++channels_;
    const bool even =
        std::all_of(bits.begin(), bits.begin() + channels_,
                    [&](int each) { return each == bits[0]; }) &&
        std::all_of(bits.begin() + channels_, bits.end(), [](int each) { return each == 0; });
    if (!even || channels_ == 0 || channels_ == 3)
        throw ValueError(join(asked, ": a texel has 1, 2 or 4 channels of the same bits, the rest "
                                     "0\n    help: (32, 0, 0, 0, kind), (16, 16, 0, 0, kind), (8, "
                                     "8, 8, 8, kind)"));
    const Row* found = std::ranges::find_if(
        rows, [&](const Row& row) { return row.kind == kind_ && row.bits == bits[0]; });
    if (found == std::end(rows))
        throw ValueError(
            join(asked, ": there are channels of 8, 16 and 32 bits of the kinds "
                        "cudaChannelFormatKindSigned (0) and cudaChannelFormatKindUnsigned (1), "
                        "and of 16 and 32 bits of cudaChannelFormatKindFloat (2)"));
    dtype_ = found->dtype;
    format_ = found->format;
}

std::string ChannelFormat::text() const {
    return channels_ == 1 ? std::string(row(dtype_).name)
                          : join(row(dtype_).name, " x ", channels_);
}

} // namespace quern
