// Reads a body's needs off the facts that its spec holds.
#include "compiler/plan/body.h"

#include "compiler/spec/body_facts.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace quern {
namespace {

bool names_a_thread(const std::vector<std::string>& identifiers) {
    static constexpr std::string_view names[] = {
        "threadIdx",  "blockIdx",   "blockDim", "gridDim",      "__syncthreads",
        "__shared__", "__syncwarp", "warpSize", "__activemask", "cooperative_groups"};
    return std::any_of(identifiers.begin(), identifiers.end(), [](const std::string& identifier) {
        return std::find(std::begin(names), std::end(names), identifier) != std::end(names) ||
               identifier.starts_with("__shfl") || identifier.starts_with("__ballot") ||
               identifier.starts_with("__any_sync") || identifier.starts_with("__all_sync") ||
               identifier.starts_with("__match") || identifier.starts_with("__reduce_");
    });
}

// Elements that are worth a block of their own on the CPU: fewer when the body calls, and one that
// loops may be worth it alone.
std::int64_t grain_of(const ElementwiseSpec& spec) {
    const auto has = [&](std::string_view word) {
        return std::binary_search(spec.facts.identifiers.begin(), spec.facts.identifiers.end(),
                                  word);
    };
    if (has("for") || has("while") || has("do") || has("goto"))
        return 1;
    return spec.operation.find('(') != std::string::npos ? 8192 : 32768;
}

// On the CPU, bodies that write where they like run one after the other: the last one wins.
constexpr std::int64_t one_block = std::int64_t{1} << 60;

// One question alone costs less than the loads.
constexpr int least_swift_steps = 2;

} // namespace

BodyNeeds needs_of(const ElementwiseSpec& spec) {
    const BodyFacts& facts = spec.facts;
    BodyNeeds needs;
    const bool in_order = writes_places(spec);
    needs.keep_order = facts.uses_i || facts.uses_ind || facts.uses_n || in_order;
    needs.keep_axes = !spec.reduce_dims && facts.uses_ind;
    needs.one_element = facts.leaves_early || names_a_thread(facts.identifiers);
    needs.swift = spec.swift_steps >= least_swift_steps && spec.total;
    needs.swift_of_many = spec.takes_long && spec.total;
    needs.in_place = in_order || std::ranges::any_of(spec.params, &Param::non_const);
    needs.costly = is_costly(spec.operation);
    needs.grain = in_order ? one_block : grain_of(spec);
    return needs;
}

} // namespace quern
