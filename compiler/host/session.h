// One run of Clang: its arguments, its files in memory and its diagnostics. Private to the front
// end.
#pragma once
#include "compiler/host/files.h"
#include "compiler/host/front_end.h"
#include "compiler/host/tolerance.h"
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>

namespace quern::host {

inline constexpr const char* precompiled_path = "/quern/builtins.pch";

std::vector<std::string> base_arguments(const std::string& standard, const Cpu& cpu);

// Prints like Clang on a terminal without colours, and keeps the names that the program takes from
// us.
class LogPrinter final : public clang::TextDiagnosticPrinter {
  public:
    using TextDiagnosticPrinter::TextDiagnosticPrinter;
    TakenNames taken;
    bool launches = false; // a kernel was to launch a kernel

    void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                          const clang::Diagnostic& info) override;
};

struct Session {
    std::string& log;
    llvm::raw_string_ostream stream{log};
#if LLVM_VERSION_MAJOR >= 21
    clang::DiagnosticOptions diagnostic_options;
    LogPrinter printer{stream, diagnostic_options};
#else
    llvm::IntrusiveRefCntPtr<clang::DiagnosticOptions> diagnostic_options{
        new clang::DiagnosticOptions};
    LogPrinter printer{stream, diagnostic_options.get()};
#endif
    std::unique_ptr<clang::CompilerInstance> instance;

    explicit Session(std::string& text);
    bool open(const std::vector<std::string>& words,
              llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files);
};

} // namespace quern::host
