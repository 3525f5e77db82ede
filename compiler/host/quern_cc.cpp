// The C door: takes a request, runs the stages under crash recovery, hands the object or the
// diagnostics back.
#include "compiler/host/quern_cc.h"
#include "compiler/host/background.h"
#include "compiler/host/crash_guard.h"
#include "compiler/host/facts.h"
#include "compiler/host/leading.h"
#include "compiler/host/levels.h"
#include "compiler/host/passes.h"
#include "compiler/host/precompiled.h"
#include "compiler/host/ptx/translate.h"
#include <chrono>
#include <clang/Basic/Stack.h>
#include <clang/Basic/Version.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/CrashRecoveryContext.h>

namespace quern::host {
namespace {

double now_ms() {
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

struct Result : quern_cc_result {
    llvm::SmallVector<char, 0> bytes;
    std::string text, kernel_facts;
    std::vector<std::string> names;
    std::vector<const char*> pointers;
};

// Errors of the back end go to the log.
struct BackEndLog final : llvm::DiagnosticHandler {
    std::string& log;
    bool failed = false;
    explicit BackEndLog(std::string& text) : log(text) {}
    bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
        if (info.getSeverity() != llvm::DS_Error && info.getSeverity() != llvm::DS_Warning)
            return true;
        llvm::raw_string_ostream stream(log);
        llvm::DiagnosticPrinterRawOStream printer(stream);
        stream << (info.getSeverity() == llvm::DS_Error ? "error: " : "warning: ");
        info.print(printer);
        stream << "\n";
        failed |= info.getSeverity() == llvm::DS_Error;
        return true;
    }
};

struct Work {
    FrontEndInput input;
    Options options;
    Cpu cpu;
    std::vector<SourceFile> headers;
    std::vector<std::string> names, toolkit;
};

void compile(const Work& work, std::string_view precompiled, Result& result) {
    llvm::LLVMContext context;
    auto handler = std::make_unique<BackEndLog>(result.text);
    auto* back_end = handler.get();
    const double start = now_ms();
    auto machine = take_machine(work.cpu, result.text);
    Program program;
    result.status = machine ? run_front_end(work.input, precompiled, context, program, result.text)
                            : QUERN_CC_ERROR;
    context.setDiagnosticHandler(std::move(handler));
    const double read = now_ms();
    result.front_end_ms = read - start;
    if (result.status != QUERN_CC_OK)
        return;
    if (!link_ptx_library(work.input, precompiled, program, result.text)) {
        result.status = QUERN_CC_CRASH;
        return;
    }
    auto& module = *program.module; // until make_fast() may take another
    module.setDataLayout(machine->createDataLayout());
    program.cut_waiting = work.options.regions;
    keep_warps_in_step(program);
    find_waiting_kernels(program);
    define_semantics(module);
    inline_device_functions(program);
    answer_spaces(program, *machine);
    place_carry(module);
    place_threads_and_shared(program);
    keep_exchanges_in_step(program);
    keep_leaders_in_step(program);
    wait_for_stragglers(program);
    let_spinning_threads_wait(program);
    if (!make_fast(program, *machine, work.cpu, work.options.optimise_limit_ms, result.text)) {
        result.status = QUERN_CC_CRASH;
        return;
    }
    make_plain_runners(program);
    result.kernel_facts = tell_facts(program, work.cpu);
    const double optimised = now_ms();
    result.optimise_ms = optimised - read;
    program.budget = Budget(allowed_ms(program, work.options.optimise_limit_ms));
    const bool emitted = emit_object(program, *machine, work.cpu, result.bytes);
    result.emit_ms = now_ms() - optimised;
    if (program.budget.was_refused())
        result.text += "note: to write the machine code takes long as well: the last passes over "
                       "it were left out\n";
    if (!emitted || back_end->failed) {
        result.status = QUERN_CC_REFUSED;
        result.bytes.clear();
    }
    result.names = program.lowered_names;
    return_machine(work.cpu, std::move(machine));
}

Work read_request(const quern_cc_request& request) {
    Work work;
    work.cpu = parse_cpu(request.arch ? request.arch : "");
    for (size_t i = 0; i < request.header_count; ++i)
        work.headers.push_back(
            {request.headers[i].name, {request.headers[i].text, request.headers[i].size}});
    for (size_t i = 0; i < request.name_expression_count; ++i)
        work.names.emplace_back(request.name_expressions[i]);
    for (size_t i = 0; i < request.toolkit_folder_count; ++i)
        work.toolkit.emplace_back(request.toolkit_folders[i]);
    work.input.main = {request.file_name ? request.file_name : "kernel.cu",
                       {request.source, request.source_size}};
    return work;
}

// On a stack of its own. Returns what happened to Clang or LLVM, "" when nothing did.
std::string attempt(const Work& work, Result& result) {
    std::string reason = "unknown reason";
    llvm::CrashRecoveryContext recovery;
    recovery.RunSafelyOnThread(
        [&] {
            llvm::CrashRecoveryContext inner;
            const bool survived = inner.RunSafely([&] {
                clang::noteBottomOfStack();
                const auto precompiled = find_precompiled(image_name(work.input), result.text);
                if (precompiled.empty())
                    return;
                compile(work, precompiled, result);
                reason.clear();
            });
            if (!survived)
                reason = fatal_text().empty() ? "Clang or LLVM stopped at a signal" : fatal_text();
        },
        16U << 20);
    if (!reason.empty()) {
        result.bytes.clear();
        result.names.clear();
        result.kernel_facts.clear();
    }
    return reason;
}

void run(const quern_cc_request& request, Result& result) {
    Work work = read_request(request);
    if (!parse_options({request.options, request.option_count}, work.options, result.text)) {
        result.status = QUERN_CC_ERROR;
        return;
    }
    work.input.headers = work.headers;
    work.input.name_expressions = work.names;
    work.input.toolkit_folders = work.toolkit;
    work.input.options = &work.options;
    work.input.cpu = &work.cpu;
    work.input.store = request.store;

    CrashGuard guard;
    auto reason = attempt(work, result);
    if (!reason.empty() && !read_leading(work.input.main.text).includes.empty()) {
        work.input.use_images = false; // in case it was one of those
        result.text.clear();
        reason = attempt(work, result);
    }
    if (!reason.empty()) {
        result.status = QUERN_CC_CRASH;
        result.text += "error: the host compiler failed: " + reason + "\n";
    }
}

} // namespace
} // namespace quern::host

extern "C" {

quern_cc_result* quern_cc_compile(const quern_cc_request* request) {
    using namespace quern::host;
    auto* result = new (std::nothrow) Result();
    if (!result)
        return nullptr;
    result->status = QUERN_CC_ERROR;
    if (!request || request->abi != QUERN_CC_ABI || !request->source)
        result->text = "error: the request has no source, or another ABI than " +
                       std::to_string(QUERN_CC_ABI) + "\n";
    else
        run(*request, *result);
    for (const auto& name : result->names)
        result->pointers.push_back(name.c_str());
    result->object = result->bytes.data();
    result->object_size = result->bytes.size();
    result->log = result->text.c_str();
    result->facts = result->kernel_facts.c_str();
    result->lowered_names = result->pointers.data();
    result->lowered_name_count = result->pointers.size();
    return result;
}

void quern_cc_free(quern_cc_result* result) { delete static_cast<quern::host::Result*>(result); }

const char* quern_cc_why_ignored(const char* option) {
    const auto why = quern::host::why_ignored(option ? option : ""); // a literal: it ends in 0
    return why.empty() ? "" : why.data();
}
void quern_cc_wait(void) { quern::host::wait_for_background(); }
const char* quern_cc_identity(void) { return "clang " CLANG_VERSION_STRING " (quern cc 4)"; }
}
