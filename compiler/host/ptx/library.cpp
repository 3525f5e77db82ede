// Compiles device/ptx.cuh for a program that uses some of it, and links in what it uses.
#include "compiler/host/ptx/translate.h"
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>

namespace quern::host {

bool link_ptx_library(const FrontEndInput& user, std::string_view precompiled, Program& program,
                      std::string& log) {
    const auto& functions = program.module->functions();
    if (std::none_of(functions.begin(), functions.end(), [](const llvm::Function& function) {
            return function.isDeclaration() && function.getName().starts_with("__quern_ptx_");
        }))
        return true;
    Options options;
    options.standard = user.options->standard; // the image's
    options.fmad = false;
    const FrontEndInput input{.main = {"ptx.cu", "#include \"/quern/ptx.cuh\"\n"},
                              .headers = {},
                              .name_expressions = {},
                              .toolkit_folders = {},
                              .options = &options,
                              .cpu = user.cpu};
    Program library;
    if (run_front_end(input, precompiled, program.module->getContext(), library, log) !=
        QUERN_CC_OK)
        return false;
    for (const char* list : {"llvm.used", "llvm.compiler.used"}) // keeps what nobody asked for
        if (auto* variable = library.module->getNamedGlobal(list))
            variable->eraseFromParent();
    return !llvm::Linker::linkModules(*program.module, std::move(library.module),
                                      llvm::Linker::LinkOnlyNeeded);
}

} // namespace quern::host
