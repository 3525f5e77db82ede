// Barriers, votes, shuffles, matches and reductions, on the primitives of device/barriers.cuh.
#include "compiler/host/ptx/emitter.h"

namespace quern::host::ptx {
namespace {

constexpr Type u32{Type::unsigned_integer, 32};
constexpr Type b32{Type::bits, 32};

// The op of __quern_sync_warp.
enum Meeting : unsigned { sync = 0, read_lane = 1, ballot = 2, match = 3, reduce = 4 };
enum BlockMeeting : unsigned { barrier = 0, count = 1, all = 2, any = 3 };

Value* meet(Emitter& e, unsigned op, Value* mask, Value* value, Value* source = nullptr) {
    return e.call("__quern_sync_warp", e.build.getInt64Ty(),
                  {e.number(32, op), mask, value, source ? source : e.number(32, 0)}, true);
}
Value* meet_block(Emitter& e, unsigned op, Value* predicate) {
    return e.call("__quern_sync_block", e.build.getInt32Ty(), {e.number(32, op), predicate}, true);
}
Value* low(Emitter& e, Value* both) { return e.build.CreateTrunc(both, e.build.getInt32Ty()); }
Value* high(Emitter& e, Value* both) { return low(e, e.build.CreateLShr(both, 32)); }

// bar and barrier: .sync, .warp.sync and .red.
void block_barrier(Emitter& e) {
    e.take("cta");
    if (e.take("warp")) {
        if (!e.take("sync"))
            e.refuse();
        e.want_operands(1);
        meet(e, sync, e.read(0, u32), e.number(64, 0));
        return;
    }
    e.take("aligned");
    if (e.take("sync")) {
        e.want_operands(1, 2);
        auto* id = e.read(0, u32);
        if (e.operand_count() == 2) {
            e.call("__quern_sync_named", e.build.getVoidTy(), {id, e.read(1, u32)}, true);
            return;
        }
        if (e.is_number(e.operand(0)) && e.read_constant(e.operand(0)) == 0) {
            meet_block(e, barrier, e.number(32, 0));
            return;
        }
        Value* threads = e.number(32, 1);
        for (const char* axis : {"%ntid.x", "%ntid.y", "%ntid.z"})
            threads = e.build.CreateMul(threads, read_special(e, axis, 32));
        e.call("__quern_sync_named", e.build.getVoidTy(), {id, threads}, true);
        return;
    }
    if (!e.take("red"))
        e.refuse();
    const auto how = e.take_any({"popc", "and", "or"});
    if (how.empty() || e.operand_count() != 3)
        e.refuse("only the form of the whole block is supported");
    if (how == "popc") {
        const Type type = e.take_type();
        auto* holds = e.build.CreateZExt(e.read_predicate(e.operand(2)), e.build.getInt32Ty());
        return e.write(type, meet_block(e, count, holds));
    }
    e.take("pred");
    auto* holds = e.build.CreateZExt(e.read_predicate(e.operand(2)), e.build.getInt32Ty());
    e.write_predicate(
        e.operand(0),
        e.build.CreateICmpNE(meet_block(e, how == "and" ? all : any, holds), e.number(32, 0)));
}

void want_sync(Emitter& e) {
    if (!e.take("sync"))
        e.refuse("since sm_70 it is spelled with '.sync' and a mask");
}

void vote(Emitter& e) {
    want_sync(e);
    const auto how = e.take_any({"all", "any", "uni", "ballot"});
    e.take_any({"pred", "b32"});
    e.want_operands(3);
    auto* holds = e.build.CreateZExt(e.read_predicate(e.operand(1)), e.build.getInt64Ty());
    auto* both = meet(e, ballot, e.read(2, u32), holds);
    auto *yes = low(e, both), *there = high(e, both);
    if (how == "ballot")
        return e.write(b32, yes);
    auto* every = e.build.CreateICmpEQ(yes, there);
    auto* none = e.build.CreateICmpEQ(yes, e.number(32, 0));
    e.write_predicate(e.operand(0), how == "all"   ? every
                                    : how == "any" ? e.build.CreateNot(none)
                                                   : e.build.CreateOr(every, none));
}

// c holds the segment's mask in bits 8 to 12 and the bound in bits 0 to 4.
void shuffle(Emitter& e) {
    want_sync(e);
    const auto how = e.take_any({"up", "down", "bfly", "idx"});
    e.take_type();
    e.want_operands(5);
    auto *value = e.read(1, b32), *distance = e.build.CreateAnd(e.read(2, u32), 31);
    auto *c = e.read(3, u32), *mask = e.read(4, u32);
    auto* lane = read_special(e, "%laneid", 32);
    auto* segment = e.build.CreateAnd(e.build.CreateLShr(c, 8), 31);
    auto* inside = e.build.CreateNot(segment);
    auto* least = e.build.CreateAnd(lane, segment);
    auto* bound = e.build.CreateOr(least, e.build.CreateAnd(e.build.CreateAnd(c, 31), inside));
    Value* source = how == "up"     ? e.build.CreateSub(lane, distance)
                    : how == "down" ? e.build.CreateAdd(lane, distance)
                    : how == "bfly" ? e.build.CreateXor(lane, distance)
                                    : e.build.CreateOr(least, e.build.CreateAnd(distance, inside));
    auto* valid =
        how == "up" ? e.build.CreateICmpSGE(source, bound) : e.build.CreateICmpSLE(source, bound);
    source = e.build.CreateSelect(valid, source, lane);
    auto* got = meet(e, read_lane, mask, e.build.CreateZExt(value, e.build.getInt64Ty()), source);
    e.write(b32, low(e, got));
    if (!e.operand(0).also.empty())
        e.write_predicate(e.operand(0).also[0], valid);
}

void find_matches(Emitter& e) {
    const auto how = e.take_any({"any", "all"});
    want_sync(e);
    const Type type = e.take_type();
    e.want_operands(3);
    auto* value = e.build.CreateZExt(e.read(1, type), e.build.getInt64Ty());
    auto* both = meet(e, match, e.read(2, u32), value);
    if (how == "any")
        return e.write(b32, low(e, both));
    auto* same = e.build.CreateICmpEQ(low(e, both), high(e, both));
    e.write(b32, e.build.CreateSelect(same, low(e, both), e.number(32, 0)));
    if (!e.operand(0).also.empty())
        e.write_predicate(e.operand(0).also[0], same);
}

void reduce_lanes(Emitter& e) {
    want_sync(e);
    struct Row {
        std::string_view name;
        unsigned of_unsigned, of_signed;
    };
    constexpr Row operations[] = {{"add", 4, 4}, {"min", 5, 7},  {"max", 6, 8},
                                  {"and", 9, 9}, {"or", 10, 10}, {"xor", 11, 11}};
    for (const auto& row : operations)
        if (e.take(row.name)) {
            const Type type = e.take_type();
            if (type.is_real() || type.width != 32)
                e.refuse();
            e.want_operands(3);
            auto* value = e.build.CreateZExt(e.read(1, type), e.build.getInt64Ty());
            return e.write(type, low(e, meet(e, type.is_signed() ? row.of_signed : row.of_unsigned,
                                             e.read(2, u32), value)));
        }
    e.refuse();
}

void active_mask(Emitter& e) {
    e.take("b32");
    e.want_operands(1);
    e.write(b32, e.call("__quern_active_mask", e.build.getInt32Ty(), {}, true));
}

constexpr Instruction rows[] = {
    {"bar", block_barrier, false},
    {"barrier", block_barrier, false},
    {"vote", vote, false},
    {"shfl", shuffle, false},
    {"match", find_matches, false},
    {"redux", reduce_lanes, false},
    {"activemask", active_mask, false},
};

} // namespace

Instructions warp_instructions() { return rows; }

} // namespace quern::host::ptx
