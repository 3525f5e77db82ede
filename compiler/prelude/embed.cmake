# cmake -DPIECES=a.cuh;b.cuh -DOUTPUT=table.cpp -P embed.cmake
set(text "// Made by embed.cmake from quern/ and standard/.\n#include \"compiler/prelude/prelude.h\"\n\nnamespace quern {\n\nconst std::vector<PreludePiece>& prelude_pieces() {\n    static const std::vector<PreludePiece> pieces{\n")
foreach(piece IN LISTS PIECES)
    string(REGEX REPLACE "^.*/prelude/(standard/)?" "" name ${piece}) # quern/half.cuh, stdint.h
    file(READ ${piece} body)
    string(APPEND text "        {\"${name}\", R\"quern_text(${body})quern_text\"},\n")
endforeach()
string(APPEND text "    };\n    return pieces;\n}\n\n} // namespace quern\n")
file(WRITE ${OUTPUT} "${text}")
