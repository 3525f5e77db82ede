// The notice of a cast, and when it is due.
#include "runtime/kernel/casts.h"

namespace quern {
namespace {
CastNotice cast_notice = nullptr;
}

void set_cast_notice(CastNotice notice) noexcept { cast_notice = notice; }

bool drops_imaginary(DType from, DType to) noexcept {
    return row(from).kind == Kind::complex && row(to).kind != Kind::complex && to != DType::boolean;
}

void note_cast(DType from, DType to) {
    if (drops_imaginary(from, to) && cast_notice != nullptr) [[unlikely]]
        cast_notice();
}

} // namespace quern
