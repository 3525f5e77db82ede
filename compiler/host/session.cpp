// See session.h.
#include "compiler/host/session.h"
#include "compiler/host/tolerance.h"
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Basic/DiagnosticSema.h>
#include <clang/Basic/FileManager.h>
#include <clang/Frontend/CompilerInvocation.h>

namespace quern::host {
namespace {

// -w and -W live in the invocation; the engine was made before it was read.
void apply_warning_options(clang::CompilerInstance& instance) {
#if LLVM_VERSION_MAJOR >= 20
    clang::ProcessWarningOptions(instance.getDiagnostics(), instance.getDiagnosticOpts(),
                                 instance.getVirtualFileSystem(), false);
#else
    clang::ProcessWarningOptions(instance.getDiagnostics(), instance.getDiagnosticOpts(), false);
#endif
}

} // namespace

std::vector<std::string> base_arguments(const std::string& standard, const Cpu& cpu) {
    std::vector<std::string> words = {"-triple",
                                      "x86_64-unknown-linux-gnu",
                                      "-target-cpu",
                                      cpu.name,
                                      "-x",
                                      "cuda",
                                      "-fcuda-is-device",
                                      "-fcuda-allow-variadic-functions",
                                      "-std=" + standard,
                                      "-fgnuc-version=4.2.1",
                                      "-nostdsysteminc",
                                      "-nobuiltininc",
                                      "-fno-rtti",
                                      "-O2",
                                      "-disable-llvm-passes",
                                      "-fwrapv", // what hardware does, and programs count on
                                      "-relaxed-aliasing", // so is this, of shared memory above all
                                      "-mrelocation-model",
                                      "pic",
                                      "-pic-level",
                                      "2",
                                      "-mframe-pointer=none",
                                      "-vectorize-loops",
                                      "-vectorize-slp",
                                      "-ffloat16-excess-precision=none",
                                      "-fbfloat16-excess-precision=none",
                                      "-Wno-unused-value",
                                      "-Wno-undefined-internal",
                                      "-fdeclspec",
                                      "-ferror-limit",
                                      "50"};
    add_tolerant_words(words);
    for (const auto& feature : cpu.features) {
        words.emplace_back("-target-feature");
        words.push_back(feature);
    }
    return words;
}

void LogPrinter::HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                                  const clang::Diagnostic& info) {
    taken.see(level, info);
    launches |= info.getID() == clang::diag::err_kern_call_not_global_function;
    TextDiagnosticPrinter::HandleDiagnostic(level, info);
}

Session::Session(std::string& text) : log(text) {
#if LLVM_VERSION_MAJOR >= 21
    diagnostic_options.ShowPresumedLoc = true;
#else
    diagnostic_options->ShowPresumedLoc = true; // the user's names from #line
#endif
}

bool Session::open(const std::vector<std::string>& words,
                   llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files) {
    std::vector<const char*> pointers;
    for (const auto& word : words)
        pointers.push_back(word.c_str());
    auto invocation = std::make_shared<clang::CompilerInvocation>();
#if LLVM_VERSION_MAJOR >= 21
    auto diagnostics =
        clang::CompilerInstance::createDiagnostics(*files, diagnostic_options, &printer, false);
    if (!clang::CompilerInvocation::CreateFromArgs(*invocation, pointers, *diagnostics))
        return false;
    instance = std::make_unique<clang::CompilerInstance>(invocation);
    instance->setVirtualFileSystem(files);
    instance->setDiagnostics(diagnostics);
    instance->createFileManager();
#else
    auto diagnostics = clang::CompilerInstance::createDiagnostics(diagnostic_options.get(),
                                                                  &printer, /*own=*/false);
    if (!clang::CompilerInvocation::CreateFromArgs(*invocation, pointers, *diagnostics))
        return false;
    instance = std::make_unique<clang::CompilerInstance>();
    instance->setInvocation(invocation);
    instance->setDiagnostics(diagnostics.get());
    instance->createFileManager(files);
#endif
    instance->setVerboseOutputStream(llvm::nulls()); // the count of warnings would go to stderr
    instance->getFrontendOpts().DisableFree = false;
    apply_warning_options(*instance);
    return true;
}

} // namespace quern::host
