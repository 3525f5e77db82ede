// Who meets whom, and what comes of it.
#include "runtime/host/warp_meeting.h"

#include <algorithm>
#include <bit>

namespace quern::host {
namespace {

unsigned lowest(std::uint32_t lanes) { return static_cast<unsigned>(std::countr_zero(lanes)); }

std::uint32_t combine(WarpOp op, std::uint32_t a, std::uint32_t b) noexcept {
    const auto signed_a = static_cast<std::int32_t>(a), signed_b = static_cast<std::int32_t>(b);
    switch (op) {
    case WarpOp::add:
        return a + b;
    case WarpOp::min_unsigned:
        return std::min(a, b);
    case WarpOp::max_unsigned:
        return std::max(a, b);
    case WarpOp::min_signed:
        return static_cast<std::uint32_t>(std::min(signed_a, signed_b));
    case WarpOp::max_signed:
        return static_cast<std::uint32_t>(std::max(signed_a, signed_b));
    case WarpOp::bit_and:
        return a & b;
    case WarpOp::bit_or:
        return a | b;
    default:
        return a ^ b;
    }
}

} // namespace

std::uint32_t WarpMeeting::resolve(unsigned first, std::uint32_t waiting,
                                   std::uint32_t expected) noexcept {
    std::uint32_t served = 0;
    for (std::uint32_t rest = waiting; rest != 0;) {
        const unsigned leader = first + lowest(rest);
        std::uint32_t group = rest & (~rest + 1); // who asks the same of the same lanes
        for (std::uint32_t left = rest; left != 0; left &= left - 1) {
            const unsigned thread = first + lowest(left);
            if (ops_[thread] == ops_[leader] && masks_[thread] == masks_[leader])
                group |= 1U << (thread - first);
        }
        rest &= ~group;
        if ((masks_[leader] & expected & ~group) != 0)
            continue;
        serve(first, group, ops_[leader]);
        served |= group;
    }
    return served;
}

void WarpMeeting::meet_all(unsigned first, unsigned count, std::uint32_t op) noexcept {
    const auto wanted = static_cast<WarpOp>(op);
    std::uint32_t all = ~0U;
    for (unsigned lane = 0; lane < count; ++lane)
        all &= masks_[first + lane];
    if (count == 32 && all == ~0U)
        return serve_whole(first, wanted);
    std::fill_n(ops_.begin() + first, count, wanted);
    std::uint32_t waiting = count == 32 ? ~0U : (1U << count) - 1;
    waiting &= ~resolve(first, waiting, waiting);
    (void)resolve(first, waiting, 0);
}

// All 32 lanes, in loops that a compiler can vectorise.
void WarpMeeting::serve_whole(unsigned first, WarpOp op) noexcept {
    std::uint64_t* const values = values_.data() + first;
    switch (op) {
    case WarpOp::sync:
        return;
    case WarpOp::read: {
        std::array<std::uint64_t, 32> brought;
        std::copy_n(values, 32, brought.begin());
        for (unsigned lane = 0; lane < 32; ++lane)
            values[lane] = brought[sources_[first + lane] & 31];
        return;
    }
    case WarpOp::ballot: {
        std::uint32_t votes = 0;
        for (unsigned lane = 0; lane < 32; ++lane)
            votes |= static_cast<std::uint32_t>(values[lane] != 0) << lane;
        return (void)std::fill_n(values, 32, 0xffffffff00000000u | votes);
    }
    case WarpOp::match: {
        std::array<std::uint64_t, 32> brought;
        std::copy_n(values, 32, brought.begin());
        for (unsigned lane = 0; lane < 32; ++lane) {
            std::uint32_t same = 0;
            for (unsigned other = 0; other < 32; ++other)
                same |= static_cast<std::uint32_t>(brought[other] == brought[lane]) << other;
            values[lane] = 0xffffffff00000000u | same;
        }
        return;
    }
    default: {
        auto total = static_cast<std::uint32_t>(values[0]);
        for (unsigned lane = 1; lane < 32; ++lane)
            total = combine(op, total, static_cast<std::uint32_t>(values[lane]));
        return (void)std::fill_n(values, 32, std::uint64_t{total});
    }
    }
}

void WarpMeeting::serve(unsigned first, std::uint32_t group, WarpOp op) noexcept {
    if (group == ~0U)
        return serve_whole(first, op);
    const auto each = [&](auto&& act) {
        for (std::uint32_t rest = group; rest != 0; rest &= rest - 1)
            act(first + lowest(rest));
    };
    switch (op) {
    case WarpOp::sync:
        return each([&](unsigned thread) { values_[thread] = 0; });
    case WarpOp::read: {
        std::array<std::uint64_t, 32> brought{};
        std::copy_n(values_.begin() + first, 32, brought.begin());
        return each([&](unsigned thread) {
            const std::uint32_t from = sources_[thread] & 31;
            if (group >> from & 1)
                values_[thread] = brought[from];
        });
    }
    case WarpOp::ballot: {
        std::uint32_t votes = 0;
        each([&](unsigned thread) {
            votes |= static_cast<std::uint32_t>(values_[thread] != 0) << (thread - first);
        });
        return each([&](unsigned thread) { values_[thread] = std::uint64_t{group} << 32 | votes; });
    }
    case WarpOp::match: {
        std::array<std::uint64_t, 32> brought{};
        std::copy_n(values_.begin() + first, 32, brought.begin());
        return each([&](unsigned thread) {
            std::uint32_t same = 0;
            each([&](unsigned other) {
                same |=
                    static_cast<std::uint32_t>(brought[other - first] == brought[thread - first])
                    << (other - first);
            });
            values_[thread] = std::uint64_t{group} << 32 | same;
        });
    }
    default: {
        auto total = static_cast<std::uint32_t>(values_[first + lowest(group)]);
        for (std::uint32_t rest = group & (group - 1); rest != 0; rest &= rest - 1)
            total = combine(op, total, static_cast<std::uint32_t>(values_[first + lowest(rest)]));
        return each([&](unsigned thread) { values_[thread] = total; });
    }
    }
}

} // namespace quern::host
