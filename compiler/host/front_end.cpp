// Clang, driven in process. Every file it sees lies in memory, except what the user's own -I
// folders hold.
#include "compiler/host/front_end.h"
#include "compiler/host/device_headers.h"
#include "compiler/host/entry.h"
#include "compiler/host/refuse.h"
#include <clang/AST/ASTConsumer.h>
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Basic/DiagnosticSema.h>
#include <clang/Basic/FileManager.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/MultiplexConsumer.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <clang/Sema/Sema.h>
#include <clang/Serialization/ASTWriter.h>
#include <llvm/IR/Constants.h>
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/TargetParser/X86TargetParser.h>
#include <map>
#include <mutex>

namespace quern::host {
namespace {

constexpr const char* root = "/quern";
constexpr const char* builtins_path = "/quern/builtins.cuh";
constexpr const char* precompiled_path = "/quern/builtins.pch";

using MemoryFiles = llvm::IntrusiveRefCntPtr<llvm::vfs::InMemoryFileSystem>;

void add_file(llvm::vfs::InMemoryFileSystem& files, const llvm::Twine& path,
              std::string_view text) {
    files.addFile(path, 0, llvm::MemoryBuffer::getMemBuffer(llvm::StringRef(text), "", false));
}

void add_text(llvm::vfs::InMemoryFileSystem& files, const llvm::Twine& path,
              std::string_view text) {
    files.addFile(path, 0, llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(text)));
}

MemoryFiles make_files() {
    MemoryFiles files(new llvm::vfs::InMemoryFileSystem);
    files->setCurrentWorkingDirectory(root);
    for (const auto& header : device_headers()) {
        const std::string folder = header.name.starts_with("std_") ? "/quern/std/" : "/quern/";
        add_text(*files, folder + std::string(header.name), header.text);
    }
    // Names that CUDA programs include and that the built-in headers already cover.
    for (const char* name : {"cuda_runtime.h",
                             "cuda_runtime_api.h",
                             "device_launch_parameters.h",
                             "vector_types.h",
                             "vector_functions.h",
                             "math.h",
                             "cmath",
                             "stdio.h",
                             "cstdio",
                             "assert.h",
                             "cassert",
                             "stdint.h",
                             "cstdint",
                             "stddef.h",
                             "cstddef",
                             "limits.h",
                             "climits",
                             "float.h",
                             "cfloat",
                             "math_constants.h",
                             "cuda.h",
                             "string.h",
                             "cstring",
                             "stdlib.h",
                             "cstdlib",
                             "sm_60_atomic_functions.h",
                             "device_functions.h",
                             "math_functions.h"})
        add_text(*files, std::string("/quern/std/") + name, "#pragma once\n");
    return files;
}

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
    for (const auto& feature : cpu.features) {
        words.emplace_back("-target-feature");
        words.push_back(feature);
    }
    return words;
}

// Prints like Clang on a terminal without colours, and remembers whether a complaint was about PTX
// assembly.
class LogPrinter final : public clang::TextDiagnosticPrinter {
  public:
    using TextDiagnosticPrinter::TextDiagnosticPrinter;
    bool assembly = false;

    void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                          const clang::Diagnostic& info) override {
        switch (info.getID()) {
        case clang::diag::err_asm_invalid_output_constraint:
        case clang::diag::err_asm_invalid_input_constraint:
        case clang::diag::err_asm_invalid_input_size:
        case clang::diag::err_asm_invalid_output_size:
        case clang::diag::err_asm_unknown_register_name:
        case clang::diag::err_asm_tying_incompatible_types:
        case clang::diag::err_store_value_to_reg:
            assembly = true;
            break;
        default: { // the complaint about an escape has no number of its own
            llvm::SmallString<128> text;
            info.FormatDiagnostic(text);
            assembly |=
                level >= clang::DiagnosticsEngine::Error && text.str().contains("inline assembly");
        }
        }
        TextDiagnosticPrinter::HandleDiagnostic(level, info);
    }
};

// -w and -W live in the invocation; the engine was made before it was read.
void apply_warning_options(clang::CompilerInstance& instance) {
#if LLVM_VERSION_MAJOR >= 20
    clang::ProcessWarningOptions(instance.getDiagnostics(), instance.getDiagnosticOpts(),
                                 instance.getVirtualFileSystem(), false);
#else
    clang::ProcessWarningOptions(instance.getDiagnostics(), instance.getDiagnosticOpts(), false);
#endif
}

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

    explicit Session(std::string& text) : log(text) {
#if LLVM_VERSION_MAJOR >= 21
        diagnostic_options.ShowPresumedLoc = true;
#else
        diagnostic_options->ShowPresumedLoc = true; // the user's names from #line
#endif
    }

    bool open(const std::vector<std::string>& words,
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
};

// Clang would look again at every function of the headers for diagnostics deferred to the end of
// the program, and so read all of them back from the image: 8 ms a kernel. Ours have none, but the
// list is private: an explicit instantiation may name it all the same.
using Deferred = llvm::SmallSetVector<clang::Decl*, 4>;
Deferred& deferred_checks(clang::Sema& sema);
template <Deferred clang::Sema::*Member> struct DeferredAccess {
    friend Deferred& deferred_checks(clang::Sema& sema) { return sema.*Member; }
};
template struct DeferredAccess<&clang::Sema::DeclsToCheckForDeferredDiags>;

class ImageWriter final : public clang::PCHGenerator {
  public:
    using PCHGenerator::PCHGenerator;
    void InitializeSema(clang::Sema& sema) override {
        sema_ = &sema;
        PCHGenerator::InitializeSema(sema);
    }
    void HandleTranslationUnit(clang::ASTContext& ast) override {
        deferred_checks(*sema_).clear();
        PCHGenerator::HandleTranslationUnit(ast);
    }

  private:
    clang::Sema* sema_ = nullptr;
};

class PrecompileAction final : public clang::ASTFrontendAction {
  public:
    std::shared_ptr<clang::PCHBuffer> buffer = std::make_shared<clang::PCHBuffer>();

  private:
    std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& instance,
                                                          llvm::StringRef) override {
        std::string sysroot;
        clang::GeneratePCHAction::ComputeASTConsumerArguments(instance, sysroot);
        using Extensions = llvm::ArrayRef<std::shared_ptr<clang::ModuleFileExtension>>;
        return std::make_unique<ImageWriter>(instance.getPreprocessor(), instance.getModuleCache(),
                                             "", sysroot, buffer,
#if LLVM_VERSION_MAJOR >= 21
                                             instance.getCodeGenOpts(),
#endif
                                             Extensions(), false, false);
    }
    clang::TranslationUnitKind getTranslationUnitKind() override { return clang::TU_Prefix; }
    bool hasASTFileSupport() const override { return false; }
};

// Runs after Clang's code generator, while declarations and source places are still known.
class EntryConsumer final : public clang::ASTConsumer {
  public:
    EntryConsumer(clang::CompilerInstance& instance, clang::CodeGenerator& generator,
                  Program& program, quern_cc_status& status, std::string& log)
        : instance_(instance), generator_(generator), program_(program), status_(status),
          log_(log) {}

    void HandleTranslationUnit(clang::ASTContext& ast) override {
        if (instance_.getDiagnostics().hasErrorOccurred())
            return;
        auto& module = *generator_.GetModule();
        for (auto& variable : module.globals())
            if (const auto* decl = generator_.GetDeclForMangledName(variable.getName()))
                if (decl->hasAttr<clang::CUDASharedAttr>())
                    variable.addAttribute(shared_attribute);
        std::string text;
        status_ = QUERN_CC_OK;
        if (!make_entries(generator_, ast, program_, module, text))
            status_ = QUERN_CC_REFUSED;
        else if (find_refusals(module, program_, ast.getSourceManager(), text))
            status_ = QUERN_CC_REFUSED;
        instance_.getDiagnosticClient().EndSourceFile();
        log_ += text;
    }

  private:
    clang::CompilerInstance& instance_;
    clang::CodeGenerator& generator_;
    Program& program_;
    quern_cc_status& status_;
    std::string& log_;
};

class CompileAction final : public clang::ASTFrontendAction {
  public:
    CompileAction(llvm::LLVMContext& context, Program& program, std::string& tail)
        : context_(context), program_(program), tail_(tail) {}
    quern_cc_status status = QUERN_CC_ERROR;

  private:
    std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& instance,
                                                          llvm::StringRef name) override {
        std::unique_ptr<clang::CodeGenerator> generator(clang::CreateLLVMCodeGen(
            instance.getDiagnostics(), name, &instance.getVirtualFileSystem(),
            instance.getHeaderSearchOpts(), instance.getPreprocessorOpts(),
            instance.getCodeGenOpts(), context_));
        generator_ = generator.get();
        auto entries =
            std::make_unique<EntryConsumer>(instance, *generator, program_, status, tail_);
        std::vector<std::unique_ptr<clang::ASTConsumer>> consumers;
        consumers.push_back(std::move(generator));
        consumers.push_back(std::move(entries));
        return std::make_unique<clang::MultiplexConsumer>(std::move(consumers));
    }
    void EndSourceFileAction() override {
        if (status == QUERN_CC_OK && generator_)
            program_.module.reset(generator_->ReleaseModule());
    }

    llvm::LLVMContext& context_;
    Program& program_;
    std::string& tail_;
    clang::CodeGenerator* generator_ = nullptr;
};

bool precompile(const std::string& standard, std::string& image, std::string& log) {
    Session session(log);
    auto words = base_arguments(standard, Cpu{"x86-64", {}});
    words.emplace_back("-emit-pch");
    words.emplace_back(builtins_path);
    if (!session.open(words, make_files()))
        return false;
    PrecompileAction action;
    if (!session.instance->ExecuteAction(action) || !action.buffer->IsComplete)
        return false;
    image.assign(action.buffer->Data.begin(), action.buffer->Data.end());
    return true;
}

std::string whole_source(const FrontEndInput& input) {
    std::string text;
    if (!input.options->preamble.empty())
        text.append("#line 1 \"<options>\"\n").append(input.options->preamble);
    text.append("#line 1 \"");
    for (char c : input.main.name)
        if (c == '"' || c == '\\')
            text.append("\\").push_back(c);
        else if (c != '\n')
            text.push_back(c);
    text.append("\"\n").append(input.main.text).append("\n");
    for (std::size_t i = 0; i < input.name_expressions.size(); ++i) {
        std::string_view name = input.name_expressions[i];
        const auto first = name.find_first_not_of(" \t\n&");
        name.remove_prefix(first == name.npos ? name.size() : first);
        std::string line(name);
        std::replace(line.begin(), line.end(), '\n', ' ');
        const auto number = std::to_string(i);
        text.append("#line 1 \"<name expression ")
            .append(number)
            .append(">\"\nextern \"C\" __device__ auto* __quern_name_");
        text.append(number).append(" = &").append(line).append(";\n");
    }
    return text;
}

// What each __quern_name_N points at is the entity asked for; the pointers themselves go away.
void read_names(const FrontEndInput& input, Program& program) {
    for (std::size_t i = 0; i < input.name_expressions.size(); ++i) {
        auto* pointer = program.module->getNamedGlobal("__quern_name_" + std::to_string(i));
        std::string name;
        if (pointer && pointer->hasInitializer()) {
            auto* target =
                llvm::dyn_cast<llvm::GlobalValue>(pointer->getInitializer()->stripPointerCasts());
            if (target) {
                name = target->getName().str();
                if (llvm::isa<llvm::GlobalVariable>(target))
                    target->setLinkage(
                        llvm::GlobalValue::ExternalLinkage); // found by name, even when static
            }
            pointer->replaceAllUsesWith(llvm::PoisonValue::get(pointer->getType()));
            pointer->eraseFromParent();
        }
        program.lowered_names.push_back(name);
    }
}

} // namespace

Cpu parse_cpu(std::string_view arch) {
    Cpu cpu;
    const auto end = std::min(arch.find('+'), arch.size());
    cpu.name = std::string(arch.substr(0, end));
    for (auto rest = arch.substr(end); !rest.empty();) {
        const auto next = std::min(rest.find('+', 1), rest.size());
        cpu.features.emplace_back(rest.substr(0, next));
        rest.remove_prefix(next);
    }
    if (cpu.name.empty())
        cpu.name = "x86-64";
    return cpu;
}

bool Cpu::has(std::string_view feature) const {
    const std::string wanted = "+" + std::string(feature);
    if (std::find(features.begin(), features.end(), wanted) != features.end())
        return true;
    llvm::SmallVector<llvm::StringRef, 64> known;
    if (llvm::X86::parseArchX86(name) == llvm::X86::CK_None)
        return false;
    llvm::X86::getFeaturesForCPU(name, known, /*NeedPlus=*/true);
    return std::find(known.begin(), known.end(), llvm::StringRef(wanted)) != known.end();
}

const std::string* find_precompiled(const std::string& standard, std::string& log) {
    struct Image {
        std::mutex building;
        std::string bytes;
    };
    static std::mutex guard;
    static std::map<std::string, Image> images;
    Image* image;
    {
        std::scoped_lock lock(guard);
        image = &images[standard];
    }
    std::scoped_lock lock(image->building);
    if (image->bytes.empty()) {
        bool built = false;
        llvm::CrashRecoveryContext
            recovery; // inside the lock, so that a crash cannot leave it held
        if (!recovery.RunSafely([&] { built = precompile(standard, image->bytes, log); }) ||
            !built) {
            image->bytes.clear();
            log += "error: quern's own device headers do not compile\n";
            return nullptr;
        }
    }
    return &image->bytes;
}

quern_cc_status run_front_end(const FrontEndInput& input, const std::string& precompiled,
                              llvm::LLVMContext& context, Program& program, std::string& log) {
    const Options& options = *input.options;
    auto memory = make_files();
    const auto source = whole_source(input);
    add_file(*memory, "/quern/main.cu", source);
    for (const auto& header : input.headers)
        add_text(*memory, std::string("/quern/include/") + std::string(header.name), header.text);
    add_file(*memory, precompiled_path, precompiled);
    llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files = memory;

    auto words = base_arguments(options.standard, *input.cpu);
    words.insert(words.end(),
                 {"-include-pch", precompiled_path, "-fno-validate-pch", "-I/quern/include"});
    if (!options.folders.empty()) {
        llvm::IntrusiveRefCntPtr<llvm::vfs::OverlayFileSystem> both(
            new llvm::vfs::OverlayFileSystem(llvm::vfs::createPhysicalFileSystem().release()));
        both->pushOverlay(memory);
        files = both;
        for (const auto& folder : options.folders)
            words.push_back("-I" + folder);
    }
    words.emplace_back("-I/quern/std"); // after the user's folders
    words.emplace_back(options.fmad ? "-ffp-contract=fast-honor-pragmas" : "-ffp-contract=off");
    if (options.fast_math)
        words.insert(words.end(), {"-fapprox-func", "-freciprocal-math"});
    else if (options.approximate_division)
        words.emplace_back("-freciprocal-math");
    if (options.line_tables)
        words.insert(words.end(), {"-debug-info-kind=line-tables-only", "-dwarf-version=5"});
    if (!options.warnings)
        words.emplace_back("-w");
    words.emplace_back("/quern/main.cu");

    std::string tail;
    Session session(log);
    if (!session.open(words, files))
        return QUERN_CC_ERROR;
    CompileAction action(context, program, tail);
    const bool done = session.instance->ExecuteAction(action);
    session.stream.flush();
    log += tail;
    if (session.printer.assembly) {
        log += "error: inline PTX assembly runs on NVIDIA GPUs only; the CPU backend cannot "
               "compile it\n";
        return QUERN_CC_REFUSED;
    }
    if (action.status == QUERN_CC_REFUSED)
        return QUERN_CC_REFUSED;
    if (!done || !program.module)
        return QUERN_CC_ERROR;
    read_names(input, program);
    return QUERN_CC_OK;
}

} // namespace quern::host
