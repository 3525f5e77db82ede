// Debian's static Clang refers to Polly's plug-in; this empty one takes its place and keeps Polly
// out.
#include <llvm/Config/llvm-config.h>
#if LLVM_VERSION_MAJOR >= 22
#include <llvm/Plugins/PassPlugin.h>
#else
#include <llvm/Passes/PassPlugin.h>
#endif

llvm::PassPluginLibraryInfo getPollyPluginInfo();

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
    return {LLVM_PLUGIN_API_VERSION, "none", "0", [](llvm::PassBuilder&) {}};
}
