// See host_compiler.h. The hooks at the end are what the host driver's table offers to objects.
#include "host_compiler.h"
#include "compiler/base/library.h"
#include "runtime/host/regions.h"
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <stdexcept>
#include <unistd.h>

namespace quern::test {
namespace {

struct Library {
    decltype(&quern_cc_compile) compile;
    decltype(&quern_cc_free) free;

    Library() {
        void* handle = dlopen(QUERN_CC_PATH, RTLD_NOW | RTLD_LOCAL);
        if (!handle)
            throw std::runtime_error(dlerror());
        compile = reinterpret_cast<decltype(compile)>(dlsym(handle, "quern_cc_compile"));
        free = reinterpret_cast<decltype(free)>(dlsym(handle, "quern_cc_free"));
    }
};

const Library& library() {
    static const Library opened;
    return opened;
}

struct Folder {
    std::filesystem::path path;
    Folder() {
        auto pattern = (std::filesystem::temp_directory_path() / "quern-host-XXXXXX").string();
        path = mkdtemp(pattern.data());
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
};

} // namespace

std::string this_cpu() {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4"))
        return __builtin_cpu_supports("avx512vpopcntdq") ? "x86-64-v4+avx512vpopcntdq"
                                                         : "x86-64-v4";
    return __builtin_cpu_supports("x86-64-v3") ? "x86-64-v3" : "x86-64-v2";
}

Compiled compile(const Source& source) {
    std::vector<const char*> options, names;
    std::vector<quern_cc_file> headers;
    for (const auto& option : source.options)
        options.push_back(option.c_str());
    for (const auto& name : source.names)
        names.push_back(name.c_str());
    for (const auto& [name, text] : source.headers)
        headers.push_back({name.c_str(), text.data(), text.size()});
    const std::string arch = source.arch.empty() ? this_cpu() : source.arch;
    quern_cc_request request{};
    request.abi = QUERN_CC_ABI;
    request.file_name = "kernel.cu";
    request.source = source.text.data();
    request.source_size = source.text.size();
    request.headers = headers.data();
    request.header_count = headers.size();
    request.options = options.data();
    request.option_count = options.size();
    request.arch = arch.c_str();
    request.name_expressions = names.data();
    request.name_expression_count = names.size();
    std::vector<std::string> folders;
    if (source.toolkit)
        folders = cuda_include_folders();
    std::vector<const char*> toolkit;
    for (const auto& folder : folders)
        toolkit.push_back(folder.c_str());
    request.toolkit_folders = toolkit.data();
    request.toolkit_folder_count = toolkit.size();
    auto* result = library().compile(&request);
    Compiled compiled;
    compiled.status = result->status;
    compiled.log = result->log;
    compiled.facts = result->facts;
    compiled.object.assign(static_cast<const char*>(result->object), result->object_size);
    for (size_t i = 0; i < result->lowered_name_count; ++i)
        compiled.names.emplace_back(result->lowered_names[i]);
    library().free(result);
    return compiled;
}

Program::Program(const Source& source) {
    const auto compiled = compile(source);
    if (compiled.status != QUERN_CC_OK)
        throw std::runtime_error("status " + std::to_string(compiled.status) + "\n" + compiled.log);
    names_ = compiled.names;
    const Folder folder;
    const auto object = folder.path / "kernel.o", shared = folder.path / "kernel.so";
    std::ofstream(object, std::ios::binary) << compiled.object;
    const std::string line =
        std::string(QUERN_TEST_LD) + " -shared -o " + shared.string() + " " + object.string() +
        " -l:libmvec.so.1 -l:libm.so.6 -L/lib/x86_64-linux-gnu -L/lib64 -L/usr/lib64";
    if (std::system(line.c_str()) != 0)
        throw std::runtime_error("ld failed");
    library_ = dlopen(shared.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library_)
        throw std::runtime_error(dlerror());
}

Program::~Program() {
    if (library_)
        dlclose(library_);
}

void* Program::symbol(const std::string& name) const {
    void* found = dlsym(library_, name.c_str());
    if (!found)
        throw std::runtime_error("no symbol " + name);
    return found;
}

const HostKernelInfo& Program::info(const std::string& kernel) const {
    return *static_cast<const HostKernelInfo*>(symbol("__quern_info_" + kernel));
}

void Program::run(const std::string& kernel, Dim grid, Dim block, const std::vector<char>& args,
                  std::uint32_t shared_bytes) const {
    const auto& facts = info(kernel);
    EXPECT_EQ(facts.abi_version, host_abi_version);
    EXPECT_EQ(facts.args_bytes, args.size());
    const auto body = reinterpret_cast<HostKernel>(symbol("__quern_run_" + kernel));
    const HostLaunch launch{{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_bytes, 0};
    std::vector<char> arena(227 * 1024 + 128); // as the driver has it
    auto* shared = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(arena.data()) + 63) &
                                           ~std::uintptr_t{63});
    std::vector<std::max_align_t> aligned(args.size() / sizeof(std::max_align_t) + 1);
    if (!args.empty())
        std::memcpy(aligned.data(), args.data(), args.size());
    const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
    const std::uint64_t half = blocks / 2; // in two ranges: the middle start must be right too
    if (half)
        body(&launch, aligned.data(), 0, half, shared);
    body(&launch, aligned.data(), half, blocks, shared);
}

int asserts = 0, traps = 0;
std::string last_assert;

} // namespace quern::test

extern "C" {
__attribute__((visibility("default"))) void* __quern_context() {
    alignas(64) static thread_local char context[64];
    return context;
}
__attribute__((visibility("default"))) void
__quern_assert_fail(const char* text, const char* file, unsigned line, const char* function,
                    unsigned thread_x, unsigned thread_y, unsigned thread_z, unsigned block_x,
                    unsigned block_y, unsigned block_z) {
    ++quern::test::asserts;
    char all[256];
    std::snprintf(all, sizeof all, "%s:%u: %s: [%u,%u,%u] [%u,%u,%u] %s", file, line, function,
                  block_x, block_y, block_z, thread_x, thread_y, thread_z, text);
    quern::test::last_assert = all;
}
__attribute__((visibility("default"))) int __quern_printf(const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    const int bytes = std::vprintf(format, arguments);
    va_end(arguments);
    return bytes;
}
__attribute__((visibility("default"))) void __quern_trap() { ++quern::test::traps; }
__attribute__((visibility("default"))) void
__quern_run_regions(const quern::HostLaunch* launch, const void* args, std::uint64_t first,
                    std::uint64_t last, void* shared, const quern::HostRegionTable* table) {
    quern::host::quern_host_run_regions(launch, args, first, last, shared, table);
}
}
