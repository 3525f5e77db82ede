// Loads, stores, copies and fences. Hints about caches mean nothing here.
#include "compiler/host/ptx/memory.h"

namespace quern::host::ptx {

Place take_place(Emitter& e) {
    Place place;
    const auto space =
        e.take_any({"global", "shared", "shared::cta", "local", "const"}); // else generic
    place.shared = space.starts_with("shared");
    if (!e.take_any({"relaxed"}).empty())
        place.order = llvm::AtomicOrdering::Monotonic;
    if (e.take("acquire"))
        place.order = llvm::AtomicOrdering::Acquire;
    if (e.take("release"))
        place.order = llvm::AtomicOrdering::Release;
    if (e.take("acq_rel"))
        place.order = llvm::AtomicOrdering::AcquireRelease;
    e.take_any({"cta", "gpu", "sys", "cluster"});
    return place;
}

void ignore_hints(Emitter& e) {
    for (const auto hint :
         {"ca", "cg", "cs", "lu", "wb", "wt", "L1::evict_normal", "L1::evict_unchanged",
          "L1::evict_first", "L1::evict_last", "L1::no_allocate", "L2::evict_normal",
          "L2::evict_first", "L2::evict_last", "L2::64B", "L2::128B", "L2::256B", "L2::cache_hint"})
        e.take(hint);
}

Value* address_of(Emitter& e, const Place& place, const Operand& operand) {
    return place.shared ? e.read_shared_address(operand) : e.read_address(operand);
}

namespace {

// What both directions have: .v2 and so on, the type, volatile or atomic.
struct Access {
    Place place;
    Type type;
    unsigned count;
    bool is_volatile, is_atomic;
};

Access take_access(Emitter& e) {
    Access access;
    const bool weak = e.take("weak");
    access.place = take_place(e);
    access.is_atomic = !weak && access.place.order != llvm::AtomicOrdering::NotAtomic;
    access.is_volatile = e.take("volatile") || e.take("mmio") || e.take("cv");
    const auto vector = e.take_any({"v2", "v4", "v8"});
    access.count = vector.empty() ? 1 : static_cast<unsigned>(vector[1] - '0');
    access.type = e.take_type();
    ignore_hints(e);
    if (access.type.kind == Type::predicate)
        e.refuse();
    // As bits: how wide one element is, is all that memory knows.
    access.type = {access.type.is_signed() ? Type::signed_integer : Type::bits, access.type.size()};
    return access;
}

llvm::Align align_of(const Type& type) { return llvm::Align(type.width / 8); }

std::vector<const Operand*> parts_of(Emitter& e, const Operand& operand, unsigned count) {
    std::vector<const Operand*> parts;
    if (operand.kind == Operand::vector)
        for (const auto& part : operand.parts)
            parts.push_back(&part);
    else
        parts.push_back(&operand);
    if (parts.size() != count)
        e.refuse("it moves " + std::to_string(count) + " registers and names " +
                 std::to_string(parts.size()));
    return parts;
}

void load(Emitter& e) {
    const bool constant = e.take("nc") || e.statement->words[0] == "ldu";
    auto access = take_access(e);
    e.want_operands(2, 3); // the third: a cache policy
    // A volatile statement may be one that looks again and again at what others write.
    access.is_volatile |= !constant && !access.place.shared && e.is_volatile();
    const auto parts = parts_of(e, e.operand(0), access.count);
    auto* type = access.type.value(e.context);
    auto* address = address_of(e, access.place, e.operand(1));
    if (access.count == 1 || access.is_atomic) {
        for (unsigned i = 0; i < access.count; ++i) {
            auto* at = e.build.CreateConstGEP1_32(type, address, i);
            auto* read =
                e.build.CreateAlignedLoad(type, at, align_of(access.type), access.is_volatile);
            if (access.is_atomic)
                read->setAtomic(access.place.order);
            e.write(*parts[i], access.type, read, true);
        }
        return;
    }
    auto* all = e.build.CreateAlignedLoad(llvm::FixedVectorType::get(type, access.count), address,
                                          align_of(access.type), access.is_volatile);
    for (unsigned i = 0; i < access.count; ++i)
        e.write(*parts[i], access.type, e.build.CreateExtractElement(all, std::uint64_t{i}), true);
}

void store(Emitter& e) {
    const auto access = take_access(e);
    e.want_operands(2, 3);
    const auto parts = parts_of(e, e.operand(1), access.count);
    auto* type = access.type.value(e.context);
    auto* address = address_of(e, access.place, e.operand(0));
    Value* all = access.count == 1
                     ? nullptr
                     : llvm::PoisonValue::get(llvm::FixedVectorType::get(type, access.count));
    for (unsigned i = 0; i < access.count; ++i) {
        auto* value = e.read(*parts[i], access.type, true);
        if (all && !access.is_atomic) {
            all = e.build.CreateInsertElement(all, value, std::uint64_t{i});
            continue;
        }
        auto* at = e.build.CreateConstGEP1_32(type, address, i);
        auto* write =
            e.build.CreateAlignedStore(value, at, align_of(access.type), access.is_volatile);
        if (access.is_atomic)
            write->setAtomic(access.place.order);
    }
    if (all && !access.is_atomic)
        e.build.CreateAlignedStore(all, address, align_of(access.type), access.is_volatile);
}

void fence(Emitter& e) {
    e.take_any({"sc", "acq_rel", "acquire", "release"});
    if (e.take_any({"gl", "cta", "sys", "gpu", "cluster"}).empty())
        e.refuse();
    e.want_operands(0);
    e.build.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
}

// prefetch and the like: nothing depends on them.
void hint(Emitter& e) {
    for (const auto& word : e.statement->words)
        e.take(word);
    if (e.statement->text.find("tensor") != std::string::npos)
        e.refuse();
}

// cp.async: the copy is done at once; whoever waits for it finds it done.
void copy(Emitter& e) {
    if (!e.take("async"))
        e.refuse();
    if (e.take("wait_all") || e.take("commit_group"))
        return e.want_operands(0);
    if (e.take("wait_group"))
        return e.want_operands(1);
    ignore_hints(e);
    if (e.take_any({"shared", "shared::cta"}).empty() || !e.take("global"))
        e.refuse();
    e.want_operands(3, 5);
    const auto bytes = static_cast<std::uint64_t>(e.read_constant(e.operand(2)));
    if (bytes != 4 && bytes != 8 && bytes != 16)
        e.refuse("it copies 4, 8 or 16 bytes");
    auto* to = e.read_shared_address(e.operand(0));
    auto* from = e.read_address(e.operand(1));
    const llvm::Align align(bytes);
    if (e.operand_count() == 3) {
        e.build.CreateMemCpy(to, align, from, align, bytes);
        return;
    }
    if (e.operand_count() == 5)
        e.refuse("its source size and policy at once are not supported");
    // Fewer bytes than it writes: zeros take their place.
    auto* size = e.read(3, Type{Type::unsigned_integer, 32});
    auto* limit = e.number(32, bytes);
    auto* some = e.build.CreateSelect(e.build.CreateICmpULT(size, limit), size, limit);
    e.build.CreateMemSet(to, e.build.getInt8(0), bytes, align);
    e.build.CreateMemCpy(to, align, from, llvm::Align(1),
                         e.build.CreateZExt(some, e.build.getInt64Ty()));
}

// A cache policy: any number will do.
void policy(Emitter& e) {
    for (const auto& word : e.statement->words)
        e.take(word);
    e.write(Type{Type::bits, 64}, e.number(64, 0));
}

constexpr Instruction rows[] = {
    {"ld", load, false},      {"ldu", load, false},     {"st", store, false},
    {"membar", fence, false}, {"fence", fence, false},  {"prefetch", hint},
    {"prefetchu", hint},      {"applypriority", hint},  {"discard", hint},
    {"cp", copy, false},      {"createpolicy", policy},
};

} // namespace

Instructions memory_instructions() { return rows; }

} // namespace quern::host::ptx
