// A kernel that walks each row several times: what it joins in one walk, the next one's elements
// see. Only fused functions make such.
#pragma once
#include "compiler/spec/kernel_spec.h"

namespace quern {

// A reduction of a walk's elements. Its result is a variable of the spec's `join_name`.
struct RowJoin {
    std::string preamble;   // types that its texts name
    std::string type;       // of the accumulator
    std::string inner_type; // a narrower type that a thread's own fits in, or ""
    std::string about_type; // what a thread finds in a first look at its elements, or ""
    std::string identity, reduce_expr;
    std::string names; // declarations of what map_expr names, after the walk's own
    std::string map_expr;
    std::uint32_t accumulator_bytes = 0; // 0 where only a compiler knows
};

struct RowWalk {
    std::string elements; // statements for each element
    std::vector<RowJoin> joins;
    std::string rows; // statements for each row, once its joins are known; their names stay
    std::string held; // `elements` where earlier walks kept some of them; "" where they did not
    // `elements` and `held` without branches, which take `quern_usual` away from what they are not
    // good for; or "". They see what `swift_rows` make, statements for each row.
    std::string swift, held_swift, swift_rows;
};

// A value of each element that the statements of walk `from` make, and `held` of later ones read.
struct RowKept {
    std::string type, name;
    std::size_t from;
};

struct RowSpec : KernelSpec {
    std::vector<bool> per_row; // of each parameter: one value for a row
    std::string before;        // statements for each row, before the first walk
    std::vector<RowWalk> walks;
    std::vector<RowKept> kept;
    bool uses_position = false;   // `_J`: where the element stands in its row
    std::int64_t inner_steps = 0; // elements that a thread may join at most; 0: any number

    [[nodiscard]] static std::string join_name(std::size_t walk, std::size_t join) {
        return "fused_join_" + std::to_string(walk) + "_" + std::to_string(join);
    }
};

// `spec` has its name, preamble and texts: reads the parameter lists, and what the texts mention.
// Throws SpecError.
void finish_row_spec(std::string_view in_params, std::string_view out_params, RowSpec& spec);

} // namespace quern
