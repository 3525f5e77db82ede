// See search.h.
#include "compiler/host/search.h"
#include "compiler/host/session.h"
#include <llvm/Support/FileSystem.h>

namespace quern::host {

Search open_search(const FrontEndInput& input, std::string_view precompiled, const Cpu& cpu) {
    const Options& options = *input.options;
    auto memory = make_files();
    Search search{memory, memory, base_arguments(options.standard, cpu)};
    for (const auto& header : input.headers)
        add_text(*search.memory, std::string("/quern/given/") + std::string(header.name),
                 header.text);
    add_file(*search.memory, precompiled_path, precompiled);

    auto& words = search.words;
    words.insert(words.end(), {"-fno-validate-pch", "-I/quern/given"});
    if (!options.folders.empty() || !input.toolkit_folders.empty()) {
        llvm::IntrusiveRefCntPtr<llvm::vfs::OverlayFileSystem> both(
            new llvm::vfs::OverlayFileSystem(llvm::vfs::createPhysicalFileSystem().release()));
        both->pushOverlay(search.memory);
        search.files = both;
        for (const auto& folder : options.folders) {
            if (llvm::sys::fs::exists(folder + "/cuda_runtime_api.h")) // a toolkit, given by hand
                cover_folder(*search.memory, folder);
            words.push_back("-I" + folder);
        }
    }
    words.emplace_back("-I/quern/include"); // after the user's folders
    for (const auto& folder : input.toolkit_folders) {
        cover_folder(*search.memory, folder);
        words.insert(words.end(), {"-isystem", folder});
    }
    return search;
}

} // namespace quern::host
