// The text of one asm statement, read: PTX instructions, labels and register declarations. Knows
// PTX's grammar and no instruction.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace quern::host::ptx {

// What cannot run on the CPU, or is not PTX. `what` names the instruction; line counts from the
// start of the asm text.
struct Refusal : std::runtime_error {
    explicit Refusal(const std::string& what) : std::runtime_error(what) {}
    unsigned line = 0;
};

struct Operand {
    enum Kind {
        none,
        argument, // %0: index
        name,     // a declared or special register, or a label
        integer,
        real,   // bits of a double
        single, // 0f...: bits of a float
        vector, // {a, b}: parts
        address // [a + b]: parts, summed
    };
    Kind kind = none;
    unsigned index = 0;
    std::uint64_t bits = 0;
    std::string text; // the name
    std::vector<Operand> parts;
    bool negated = false;      // !p
    std::vector<Operand> also; // d|p: the p
};

struct Statement {
    enum Kind { instruction, label, declaration, open, close };
    Kind kind = instruction;
    std::vector<std::string> words; // an instruction's name, split at its dots
    std::vector<Operand> operands;
    Operand predicate;              // kind none: always
    std::string text;               // label or whole opcode
    std::vector<std::string> names; // of a declaration; words[0] is its type
    unsigned line = 0;
};

// `assembly` as LLVM keeps it: $0 for %0, $$ for $, $( $| $) for { | }. `unique` stands for %=.
// Throws Refusal.
std::vector<Statement> read_text(std::string_view assembly, const std::string& unique);

} // namespace quern::host::ptx
