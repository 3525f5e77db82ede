// A region whose threads all take one way at its end can do without their states; one that leads
// back to where it began runs as a loop over rounds, and what the block agreed on stays in
// registers.
#pragma once
#include "compiler/host/region_ends.h"

namespace quern::host {

struct Round {
    struct Kept {
        std::uint32_t offset; // from kept_at on
        llvm::Type* type;
        llvm::Align align;
    };
    Fork fork; // in the region's body, as are the values of
    llvm::SmallVector<Agreed, 4> agreed;
    // Whether one end is the next round. Then the body takes, after a region's arguments, the kept
    // values and the fork's answer. `sure` is there where rows agree on the fork: the same body,
    // but it goes where the answer says.
    bool goes_on = false;
    std::uint8_t number = 0; // that end, where the body begins
    llvm::SmallVector<Kept, 4> kept;
    llvm::Function *body = nullptr, *sure = nullptr;
};

// For a region's body that begins with the state `number`; nothing where it is of no use. A body
// that goes on is a new one, to be taken instead; else there is nothing to do in it but to part.
std::optional<Round> make_round(llvm::Function& body, llvm::ArrayRef<Agreed> agreed, bool has_idle,
                                std::uint8_t number, bool several_blocks);

} // namespace quern::host
