// Finds a prelude piece by its name.
#include "compiler/prelude/prelude.h"

#include <stdexcept>
#include <string>

namespace quern {

const PreludePiece& prelude_piece(std::string_view name) {
    for (const PreludePiece& piece : prelude_pieces())
        if (piece.name == name)
            return piece;
    throw std::logic_error("there is no prelude piece " + std::string(name));
}

} // namespace quern
