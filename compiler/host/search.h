// Where #include looks: the headers handed along, the user's folders, ours, then the toolkit's.
#pragma once
#include "compiler/host/files.h"
#include "compiler/host/front_end.h"

namespace quern::host {

struct Search {
    MemoryFiles memory; // goes before everything on disk
    llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files;
    std::vector<std::string> words; // Clang's
};

Search open_search(const FrontEndInput& input, std::string_view precompiled, const Cpu& cpu);

} // namespace quern::host
