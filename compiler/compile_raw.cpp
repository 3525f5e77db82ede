// Programs of the user's own: options sorted by toolchain, headers added, the rest as for every
// kernel.
#include "compiler/backend/nvcc.h"
#include "compiler/backend/toolchain_options.h"
#include "compiler/base/demangle.h"
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "compiler/compile_error.h"
#include "compiler/compile_parts.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace quern {
namespace {

// The prelude, and CuPy's names for three of its pieces.
const std::vector<SourceFile>& raw_headers() {
    static const std::vector<SourceFile> headers = [] {
        std::vector<SourceFile> made = prelude_headers();
        made.push_back({"cupy/complex.cuh", "#pragma once\n#include \"quern/complex.cuh\"\n"});
        made.push_back({"cupy/carray.cuh", "#pragma once\n#include \"quern/carray.cuh\"\n"});
        made.push_back({"cupy/math_constants.h", "#pragma once\n#include <math_constants.h>\n"});
        return made;
    }();
    return headers;
}

// Each line that includes cuComplex.h includes ours instead; lines keep their numbers.
std::string translate_cucomplex(const std::string& code) {
    std::string made;
    for (std::size_t at = 0; at < code.size();) {
        const std::size_t end = std::min(code.find('\n', at), code.size());
        const std::string_view line = std::string_view(code).substr(at, end - at);
        const std::size_t first = line.find_first_not_of(" \t");
        const bool ours =
            first != line.npos && line[first] == '#' && line.find("include") != line.npos &&
            (line.find("<cuComplex.h>") != line.npos || line.find("\"cuComplex.h\"") != line.npos);
        made += ours ? "#include \"quern/cucomplex.cuh\"" : line;
        if (end < code.size())
            made += '\n';
        at = end + 1;
    }
    return made;
}

Toolchain toolchain_of(const RawSource& source, const Arch& arch) {
    return arch.target == Target::cpu ? Toolchain::host
           : source.with_nvcc         ? Toolchain::nvcc
                                      : Toolchain::nvrtc;
}

const Backend& backend_of(const RawSource& source, const Arch& arch) {
    return toolchain_of(source, arch) == Toolchain::nvcc ? nvcc_backend()
                                                         : backend_for(arch.target);
}

bool is_ptx(std::string_view text) {
    return text.starts_with("//") || text.starts_with(".version");
}

// An ELF file or a fatbin, with or without the wrapper that nvcc gives it.
bool is_machine_code(std::string_view bytes) {
    using namespace std::string_view_literals;
    return bytes.starts_with("\x7f"
                             "ELF"sv) ||
           bytes.starts_with("\x50\xed\x55\xba"sv) || bytes.starts_with("\xb1\x43\x62\x46"sv);
}

CompiledRaw take_binary(const RawSource& source, const Arch& arch) {
    const bool ptx = !is_machine_code(source.binary);
    if (arch.target == Target::cpu)
        throw Error(
            ErrorKind::not_implemented,
            join("'", source.label, "' holds ", ptx ? "PTX" : "machine code",
                 " for NVIDIA GPUs, which a CPU cannot run\n    help: give the program's CUDA "
                 "C++ source, which runs on both: path='kernel.cu' or code=..."));
    CompiledRaw made;
    made.toolchain = ptx ? "PTX of a file; the driver compiles it" : "machine code of a file";
    made.from_cache = true;
    const auto* bytes = reinterpret_cast<const std::byte*>(source.binary.data());
    made.binary.image.assign(bytes, bytes + source.binary.size() + 1); // PTX ends in 0
    return made;
}

} // namespace

RawSource read_raw_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::error_code failure;
    if (!file || std::filesystem::is_directory(path, failure))
        throw DriverError(
            join("CUDA_ERROR_FILE_NOT_FOUND (301): file not found, while trying to read '", path,
                 "'"),
            301, "CUDA_ERROR_FILE_NOT_FOUND");
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    RawSource source;
    source.label = path;
    const bool ptx =
        path.ends_with(".ptx") || (is_ptx(bytes) && bytes.find("\n.version ") != bytes.npos &&
                                   bytes.find("\n.target ") != bytes.npos);
    source.folder = std::filesystem::path(path).parent_path();
    if (source.folder.empty())
        source.folder = ".";
    (ptx || is_machine_code(bytes) ? source.binary : source.code) = std::move(bytes);
    return source;
}

CompiledRaw compile_raw(const RawSource& source, const Arch& arch, const std::string& name,
                        const std::string& origin) {
    if (!source.binary.empty())
        return take_binary(source, arch);
    const Backend& backend = backend_of(source, arch);
    CompileRequest request;
    request.name = source.label;
    request.source = source.translate_cucomplex ? translate_cucomplex(source.code) : source.code;
    request.headers = raw_headers();
    request.options = sort_options(source.options, toolchain_of(source, arch)).used;
    if (!source.folder.empty())
        request.options.push_back("-I" + source.folder);
    request.name_expressions = source.name_expressions;
    request.arch = arch;
    request.parts = &kept_parts();

    CompiledRaw made;
    made.toolchain = backend.identity();
    const auto start = std::chrono::steady_clock::now();
    bool compiled = false;
    try {
        made.binary = find_or_compile(backend, request, compiled);
    } catch (const CompileError& error) {
        throw CompileError(
            tell_raw_error(source, name, origin, error.log(), made.toolchain, arch.name), name,
            source.code, error.log());
    }
    made.facts = read_kernel_facts(made.binary.facts);
    made.from_cache = !compiled;
    made.compile_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return made;
}

std::vector<std::pair<std::string, std::string>> ignored_options(const RawSource& source,
                                                                 const Arch& arch) {
    SortedOptions sorted = sort_options(source.options, toolchain_of(source, arch));
    const Backend& backend = backend_of(source, arch);
    for (const std::string& option : sorted.used)
        if (std::string why = backend.why_ignored(option); !why.empty())
            sorted.ignored.emplace_back(option, std::move(why));
    return std::move(sorted.ignored);
}

std::vector<DeclaredParam> declared_params(const RawSource& source, const std::string& symbol) {
    const std::string readable = demangle(symbol);
    if (readable != symbol) // without typedefs; the text would add the names only
        return read_declared(split_function(readable).params, false, {});
    return find_declared(source.code, symbol, find_aliases(source.code, source.options))
        .value_or(std::vector<DeclaredParam>{});
}

} // namespace quern
