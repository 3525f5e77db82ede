// Puts the rooms of the compiler in a row: emit, key, find or compile, and tell errors in the
// user's terms.
#include "compiler/compile.h"

#include "compiler/backend/backend.h"
#include "compiler/backend/includes.h"
#include "compiler/backend/nvrtc.h"
#include "compiler/base/error.h"
#include "compiler/base/host_abi.h"
#include "compiler/base/settings.h"
#include "compiler/compile_error.h"
#include "compiler/compile_parts.h"
#include "compiler/prelude/prelude.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace quern {
namespace {

// Generated kernels do not contract a * b + c unless asked to, so that GPU, CPU and NumPy agree to
// the last bit.
std::vector<std::string> effective_options(const std::vector<std::string>& given) {
    const bool decided = std::any_of(given.begin(), given.end(), [](const std::string& option) {
        return option.find("fmad") != std::string::npos ||
               option.find("use_fast_math") != std::string::npos;
    });
    std::vector<std::string> options;
    if (!decided)
        options.emplace_back("--fmad=false");
    options.insert(options.end(), given.begin(), given.end());
    return options;
}

CacheKey key_of(const Backend& backend, const CompileRequest& request) {
    CacheKey key;
    key.name = request.name;
    key.source = request.source;
    key.headers = request.headers;
    key.included = read_included(request);
    key.options = request.options;
    key.name_expressions = request.name_expressions;
    key.backend = backend.identity();
    key.arch = request.arch;
    key.format = host_abi_version;
    return key;
}

} // namespace

const std::vector<SourceFile>& prelude_headers() {
    static const std::vector<SourceFile> headers = [] {
        std::vector<SourceFile> made;
        for (const PreludePiece& piece : prelude_pieces())
            made.push_back({std::string(piece.name), std::string(piece.text)});
        return made;
    }();
    return headers;
}

Binary find_or_compile(const Backend& backend, const CompileRequest& request, bool& compiled) {
    const CacheKey key = key_of(backend, request);
    return process_cache().find_or_compile(key, [&] {
        compiled = true;
        const auto start = std::chrono::steady_clock::now();
        Binary binary = backend.compile(request);
        binary.toolchain_ms =
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
                .count();
        return binary;
    });
}

const KeptParts& kept_parts() {
    const auto key_of = [](const std::string& text) {
        CacheKey key;
        key.name = "headers";
        key.source = text;
        key.backend = host_backend().identity();
        return key;
    };
    static const auto* const parts =
        new KeptParts{.find =
                          [=](const std::string& text) {
                              auto kept = process_cache().find(key_of(text));
                              return kept ? std::move(kept->image) : std::vector<std::byte>();
                          },
                      .keep =
                          [=](const std::string& text, std::vector<std::byte> bytes) {
                              Binary binary;
                              binary.image = std::move(bytes);
                              process_cache().keep(key_of(text), binary);
                          }};
    return *parts;
}

Cache& process_cache() {
    static Cache* cache = new Cache; // never destroyed: kernels may outlive static destruction
    return *cache;
}

void preload_gpu_toolchain() noexcept { preload_nvrtc(); }

namespace {

// A generated kernel on its way.
struct Generated {
    const KernelSpec& spec;
    LabelledTexts texts;
    std::string source;
    Arch arch;

    [[nodiscard]] CompileRequest request() const {
        CompileRequest request;
        request.name = spec.name;
        request.source = source;
        request.headers = prelude_headers();
        request.options = effective_options(spec.options);
        request.arch = arch;
        return request;
    }
    [[nodiscard]] bool is_on_disk() const {
        return process_cache().find(key_of(backend_for(arch.target), request())).has_value();
    }
    [[nodiscard]] CompiledKernel run() const {
        CompiledKernel made;
        made.symbol = spec.name;
        made.source = source;
        if (settings().show_source)
            std::fprintf(stderr, "%s\n", made.source.c_str());
        const Backend& backend = backend_for(arch.target);
        bool compiled = false;
        try {
            made.binary = find_or_compile(backend, request(), compiled);
        } catch (const CompileError& error) {
            throw CompileError(tell_compile_error(spec, texts, made.source, error.log(),
                                                  backend.identity(), arch.name),
                               spec.name, made.source, error.log());
        }
        return made;
    }
};

Generated generate(const ElementwiseSpec& spec, const Signature& signature,
                   const ElementwiseVariant& variant, const Arch& arch) {
    return {spec, labelled_texts(spec), emit_elementwise(spec, signature, variant), arch};
}
Generated generate(const ReductionSpec& spec, const Signature& signature,
                   const ReductionVariant& variant, const Arch& arch) {
    return {spec, labelled_texts(spec), emit_reduction(spec, signature, variant), arch};
}

Compilation begin(Generated generated) {
    const auto kept = std::make_shared<const Generated>(std::move(generated));
    return {[kept] { return kept->run(); }, [kept] { return kept->is_on_disk(); }};
}

} // namespace

Compilation begin_elementwise(const ElementwiseSpec& spec, const Signature& signature,
                              const ElementwiseVariant& variant, const Arch& arch) {
    return begin(generate(spec, signature, variant, arch));
}

Compilation begin_reduction(const ReductionSpec& spec, const Signature& signature,
                            const ReductionVariant& variant, const Arch& arch) {
    return begin(generate(spec, signature, variant, arch));
}

CompiledKernel compile_elementwise(const ElementwiseSpec& spec, const Signature& signature,
                                   const ElementwiseVariant& variant, const Arch& arch) {
    return generate(spec, signature, variant, arch).run();
}

CompiledKernel compile_reduction(const ReductionSpec& spec, const Signature& signature,
                                 const ReductionVariant& variant, const Arch& arch) {
    return generate(spec, signature, variant, arch).run();
}

CompiledKernel compile_scan(const ReductionSpec& spec, const Signature& signature,
                            const ScanVariant& variant, const Arch& arch) {
    return Generated{spec, labelled_texts(spec), emit_scan(spec, signature, variant), arch}.run();
}

CompiledKernel compile_rows(const RowSpec& spec, const Signature& signature,
                            const RowLayout& layout, const Arch& arch) {
    return Generated{spec, {}, emit_rows(spec, signature, layout), arch}.run();
}

} // namespace quern
