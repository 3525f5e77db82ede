// Clang, driven in process.
#include "compiler/host/front_end.h"
#include "compiler/host/entry.h"
#include "compiler/host/header_variables.h"
#include "compiler/host/leading_image.h"
#include "compiler/host/ptx/translate.h"
#include "compiler/host/refuse.h"
#include "compiler/host/search.h"
#include "compiler/host/session.h"
#include "compiler/host/tolerance.h"
#include <clang/AST/ASTConsumer.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/MultiplexConsumer.h>
#include <llvm/IR/Constants.h>
#include <llvm/TargetParser/X86TargetParser.h>

namespace quern::host {
namespace {

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
            if (const auto* decl = generator_.GetDeclForMangledName(variable.getName())) {
                if (decl->hasAttr<clang::CUDASharedAttr>())
                    variable.addAttribute(shared_attribute);
                if (decl->hasAttr<clang::CUDAConstantAttr>())
                    variable.addAttribute(constant_attribute);
            }
        std::string text;
        status_ = QUERN_CC_OK;
        if (!make_entries(generator_, ast, program_, module, text))
            status_ = QUERN_CC_REFUSED;
        else if (!translate_ptx(module, program_, ast.getSourceManager(), text) ||
                 find_refusals(module, program_, ast.getSourceManager(), text))
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

// Runs before the code generator sees a declaration.
class VariableConsumer final : public clang::ASTConsumer {
  public:
    explicit VariableConsumer(const Options& options) : options_(options) {}
    bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
        if (ast_ && options_.default_device)
            place_variables(*ast_, group);
        return true;
    }
    void Initialize(clang::ASTContext& ast) override { ast_ = &ast; }
    void HandleTranslationUnit(clang::ASTContext& ast) override {
        emit_header_variables_on_use(ast);
    }

  private:
    const Options& options_;
    clang::ASTContext* ast_ = nullptr;
};

class CompileAction final : public clang::ASTFrontendAction {
  public:
    CompileAction(llvm::LLVMContext& context, Program& program, const Options& options,
                  std::string& tail)
        : context_(context), program_(program), options_(options), tail_(tail) {}
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
        consumers.push_back(std::make_unique<VariableConsumer>(options_));
        consumers.push_back(std::move(generator));
        consumers.push_back(std::move(entries));
        return std::make_unique<clang::MultiplexConsumer>(std::move(consumers));
    }
    void ExecuteAction() override {
        tolerate(getCompilerInstance().getDiagnostics()); // the image brings its own levels along
        ASTFrontendAction::ExecuteAction();
    }
    void EndSourceFileAction() override {
        if (status == QUERN_CC_OK && generator_)
            program_.module.reset(generator_->ReleaseModule());
    }

    llvm::LLVMContext& context_;
    Program& program_;
    const Options& options_;
    std::string& tail_;
    clang::CodeGenerator* generator_ = nullptr;
};

// `__shared__ alignas(16) float tile[64];`: behind an attribute of GNU's form Clang takes C's word
// for an alignment, and no attribute in brackets, which here could only be [[maybe_unused]].
void keep_alignments(std::string& text) {
    constexpr std::string_view place = "__shared__", word = "alignas";
    for (auto at = text.find(place); at != text.npos; at = text.find(place, at)) {
        at = std::min(text.find_first_not_of(" \t\n", at + place.size()), text.size());
        if (text.compare(at, word.size(), word) == 0)
            text.replace(at, word.size(), "_Alignas");
        else if (const auto end = text.find("]]", at);
                 text.compare(at, 2, "[[") == 0 && end != text.npos)
            std::fill(text.begin() + static_cast<std::ptrdiff_t>(at),
                      text.begin() + static_cast<std::ptrdiff_t>(end + 2), ' ');
    }
}

std::string whole_source(const FrontEndInput& input, const std::vector<TakenName>& taken) {
    std::string text;
    if (!taken.empty())
        text = give_way(taken);
    if (!input.options->preamble.empty())
        text.append("#line 1 \"<options>\"\n").append(input.options->preamble);
    text.append("#line 1 \"");
    for (char c : input.main.name)
        if (c == '"' || c == '\\')
            text.append("\\").push_back(c);
        else if (c != '\n')
            text.push_back(c);
    text.append("\"\n").append(input.main.text).append("\n");
    keep_alignments(text);
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

// One pass over the program; names that it takes from our headers are added to `taken`.
quern_cc_status parse(const FrontEndInput& input, std::string_view precompiled,
                      llvm::LLVMContext& context, Program& program, std::string& log,
                      std::vector<TakenName>& taken, const LeadingImage* leading = nullptr) {
    const Options& options = *input.options;
    auto search = open_search(input, precompiled, *input.cpu);
    const auto source = whole_source(input, taken);
    add_file(*search.memory, "/quern/main/main.cu", source);
    if (leading) {
        add_file(*search.memory, leading_path, leading->text);
        add_file(*search.memory, leading_image_path, leading->record.image);
    }

    auto& words = search.words;
    words.insert(words.end(), {"-include-pch", leading ? leading_image_path : precompiled_path});
    words.emplace_back(options.fmad ? "-ffp-contract=fast-honor-pragmas" : "-ffp-contract=off");
    if (options.fast_math)
        words.insert(words.end(), {"-fapprox-func", "-freciprocal-math"});
    else if (options.approximate_division)
        words.emplace_back("-freciprocal-math");
    if (options.line_tables)
        words.insert(words.end(), {"-debug-info-kind=line-tables-only", "-dwarf-version=5"});
    if (!options.warnings)
        words.emplace_back("-w");
    words.emplace_back("/quern/main/main.cu");

    std::string tail;
    Session session(log);
    if (!session.open(words, search.files))
        return QUERN_CC_ERROR;
    CompileAction action(context, program, options, tail);
    const bool done = session.instance->ExecuteAction(action);
    session.stream.flush();
    if (session.printer.launches) {
        log += "error: a kernel that launches kernels (dynamic parallelism) runs on NVIDIA GPUs "
               "only\n";
        return QUERN_CC_REFUSED;
    }
    log += tail;
    taken = session.printer.taken.names();
    if (action.status == QUERN_CC_REFUSED)
        return QUERN_CC_REFUSED;
    if (!done || !program.module)
        return QUERN_CC_ERROR;
    read_names(input, program);
    return QUERN_CC_OK;
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

quern_cc_status run_front_end(const FrontEndInput& input, std::string_view precompiled,
                              llvm::LLVMContext& context, Program& program, std::string& log) {
    std::vector<TakenName> taken;
    const auto before = log.size();
    const auto leading = read_leading(input.main.text);
    if (const auto image = find_leading_image(input, leading, precompiled)) {
        auto shorter = input;
        shorter.main.text = leading.rest;
        if (parse(shorter, precompiled, context, program, log, taken, image.get()) == QUERN_CC_OK)
            return QUERN_CC_OK;
        log.resize(before); // what is wrong is told about the text as it is
        program = {};
        taken.clear();
    }
    auto status = parse(input, precompiled, context, program, log, taken);
    if (status == QUERN_CC_ERROR && !taken.empty()) {
        log.resize(before);
        status = parse(input, precompiled, context, program, log, taken);
    }
    return status;
}

} // namespace quern::host
