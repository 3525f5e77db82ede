// NVRTC: CUDA C++ becomes a cubin (or PTX, for a GPU newer than the library). Found and opened at
// run time.
#include "compiler/backend/nvrtc.h"
#include "compiler/backend/includes.h"
#include "compiler/base/error.h"
#include "compiler/base/library.h"
#include "compiler/base/text.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <mutex>
#include <thread>

#include <nvrtc.h>

namespace quern {
namespace {

struct NvrtcApi {
#define QUERN_NVRTC(fn) decltype(&::fn) fn = nullptr;
#include "compiler/backend/nvrtc_symbols.def"
#undef QUERN_NVRTC
    int major = 0, minor = 0;
    std::vector<int> archs; // 75, 80, ...: what this release can make code for
    std::string path;
};

NvrtcApi open_nvrtc() {
    const Library library = load_library("nvrtc");
    if (!library)
        throw Error(
            ErrorKind::runtime,
            join("compiling for a GPU needs NVRTC (libnvrtc.so), which was not found\n    help: ",
                 survey_library("nvrtc").remedy));
    NvrtcApi api;
    api.path = library.path();
    const auto take = [&]<class Function>(Function& slot, const char* name) {
        slot = reinterpret_cast<Function>(library.symbol(name));
        if (slot == nullptr)
            throw Error(ErrorKind::runtime,
                        join(library.path(), " has no ", name, ": quern needs NVRTC 12 or newer"));
    };
#define QUERN_NVRTC(fn) take(api.fn, #fn);
#include "compiler/backend/nvrtc_symbols.def"
#undef QUERN_NVRTC
    int count = 0;
    if (api.nvrtcVersion(&api.major, &api.minor) != NVRTC_SUCCESS ||
        api.nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS || count <= 0)
        throw Error(ErrorKind::runtime, join(library.path(), " does not tell its version"));
    api.archs.resize(static_cast<std::size_t>(count));
    if (api.nvrtcGetSupportedArchs(api.archs.data()) != NVRTC_SUCCESS)
        throw Error(ErrorKind::runtime, join(library.path(), " does not tell its architectures"));
    std::ranges::sort(api.archs);
    return api;
}

// A failure to open is not remembered: the library may be told of later.
const NvrtcApi& nvrtc() {
    static const NvrtcApi once = open_nvrtc();
    return once;
}

struct Program {
    const NvrtcApi& api;
    nvrtcProgram handle = nullptr;
    explicit Program(const NvrtcApi& table) : api(table) {}
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() {
        if (handle != nullptr)
            api.nvrtcDestroyProgram(&handle);
    }

    void check(nvrtcResult result, const char* function, const CompileRequest& request) const {
        if (result == NVRTC_SUCCESS)
            return;
        throw Error(ErrorKind::runtime,
                    join("NVRTC failed on kernel '", request.name, "': ", function, " answered ",
                         api.nvrtcGetErrorString(result)));
    }

    [[nodiscard]] std::string log() const {
        std::size_t size = 0;
        if (api.nvrtcGetProgramLogSize(handle, &size) != NVRTC_SUCCESS || size <= 1)
            return {};
        std::string text(size, '\0');
        if (api.nvrtcGetProgramLog(handle, text.data()) != NVRTC_SUCCESS)
            return {};
        text.resize(size - 1); // its NUL
        while (text.ends_with('\n'))
            text.pop_back();
        return text;
    }
};

struct ArchChoice {
    std::string option;
    bool ptx = false;
};

// A cubin for the GPU itself where this NVRTC knows it; else PTX of its newest virtual
// architecture, which the driver finishes.
ArchChoice choose_arch(const NvrtcApi& api, const CompileRequest& request) {
    const std::string& name = request.arch.name;
    int number = 0;
    const bool ours =
        request.arch.target == Target::gpu && name.starts_with("sm_") &&
        std::from_chars(name.data() + 3, name.data() + name.size(), number).ec == std::errc{};
    if (!ours)
        throw ValueError(join("NVRTC compiles for sm_NN, not for '", name, "'"));
    if (std::ranges::binary_search(api.archs, number))
        return {"-arch=" + name, false};
    const auto above = std::ranges::upper_bound(api.archs, number);
    if (above == api.archs.begin())
        throw Error(ErrorKind::runtime,
                    join("NVRTC ", api.major, ".", api.minor, " (", api.path,
                         ") no longer compiles for ", name, ", only from sm_", api.archs.front(),
                         " on\n    help: pip install 'quern[cuda12]'"));
    return {join("-arch=compute_", *std::prev(above)), true};
}

bool has_option(const std::vector<std::string>& options,
                std::initializer_list<std::string_view> starts) {
    return std::ranges::any_of(options, [&](const std::string& option) {
        return std::ranges::any_of(
            starts, [&](std::string_view start) { return option.starts_with(start); });
    });
}

// --minimal (NVRTC 12.4 on) halves the time of a small kernel. It drops textures, surfaces, the
// device runtime and the types named cuda...: a source that needs them fails and is compiled again
// in full. Toolkit headers often do; these do not. A source that names the objects surely does.
bool may_be_minimal(const NvrtcApi& api, const std::string& source,
                    const std::vector<std::string>& foreign) {
    if (api.major < 12 || (api.major == 12 && api.minor < 4))
        return false;
    for (const char* name : {"cudaTextureObject_t", "cudaSurfaceObject_t"})
        if (source.find(name) != std::string::npos)
            return false;
    constexpr std::string_view harmless[]{"cuda_fp16.h", "cuda_bf16.h", "cuComplex.h",
                                          "math_constants.h"};
    return std::ranges::all_of(foreign, [&](const std::string& name) {
        return std::ranges::find(harmless, name) != std::end(harmless);
    });
}

struct Outcome {
    nvrtcResult result;
    std::unique_ptr<Program> program;
};

Outcome run(const NvrtcApi& api, const CompileRequest& request,
            const std::vector<std::string>& options) {
    auto program = std::make_unique<Program>(api);
    std::vector<const char*> texts, names, arguments;
    for (const SourceFile& header : request.headers) {
        texts.push_back(header.text.c_str());
        names.push_back(header.name.c_str());
    }
    for (const std::string& option : options)
        arguments.push_back(option.c_str());
    program->check(api.nvrtcCreateProgram(&program->handle, request.source.c_str(),
                                          request.name.c_str(), static_cast<int>(texts.size()),
                                          texts.data(), names.data()),
                   "nvrtcCreateProgram", request);
    for (const std::string& expression : request.name_expressions)
        program->check(api.nvrtcAddNameExpression(program->handle, expression.c_str()),
                       "nvrtcAddNameExpression", request);
    const nvrtcResult result = api.nvrtcCompileProgram(
        program->handle, static_cast<int>(arguments.size()), arguments.data());
    return {result, std::move(program)};
}

class NvrtcBackend final : public Backend {
  public:
    // Told by the files alone where that is possible, so that a program whose kernels are all on
    // disk never opens NVRTC.
    [[nodiscard]] std::string identity() const override {
        const std::scoped_lock lock(mutex_);
        if (!identity_.empty())
            return identity_;
        const std::string path = find_library("nvrtc");
        std::string version;
        std::error_code failure;
        int versions = 0;
        for (const auto& entry : std::filesystem::directory_iterator(
                 std::filesystem::path(path).parent_path(), failure)) {
            const std::string name = entry.path().filename();
            constexpr std::string_view companion = "libnvrtc-builtins.so.";
            if (!name.starts_with(companion) ||
                std::ranges::count(name.substr(companion.size()), '.') != 1)
                continue;
            version = name.substr(companion.size());
            ++versions;
        }
        const std::string build = path.empty() ? "" : library_build_id(path);
        if (versions != 1 || build.empty())
            version = join(nvrtc().major, ".", nvrtc().minor);
        return identity_ = join("nvrtc ", version, " (build ", build.substr(0, 16), ")");
    }

    [[nodiscard]] Binary compile(const CompileRequest& request) const override {
        const NvrtcApi& api = nvrtc();
        const std::vector<std::string> foreign = foreign_includes(request);
        ArchChoice arch = choose_arch(api, request);
        std::vector<std::string> options;
        if (!has_option(request.options, {"-arch", "--gpu-architecture"}))
            options.push_back(arch.option);
        if (!has_option(request.options, {"-std", "--std"}))
            options.emplace_back("-std=c++17");
        options.insert(options.end(), request.options.begin(), request.options.end());
        if (!foreign.empty())
            for (const std::string& folder : cuda_include_folders())
                options.push_back("-I" + folder);

        const bool minimal = !has_option(options, {"-minimal", "--minimal"}) &&
                             may_be_minimal(api, request.source, foreign);
        if (minimal)
            options.emplace_back("--minimal");
        Outcome outcome = run(api, request, options);
        if (minimal && outcome.result == NVRTC_ERROR_COMPILATION) {
            options.pop_back();
            outcome = run(api, request, options);
        }
        const Program& program = *outcome.program;
        std::string log = program.log();
        if (outcome.result == NVRTC_ERROR_COMPILATION ||
            outcome.result == NVRTC_ERROR_INVALID_OPTION) {
            if (log.empty())
                log = api.nvrtcGetErrorString(outcome.result);
            log = with_header_remedies(std::move(log));
            throw CompileError(log, request.name, request.source, log);
        }
        if (outcome.result != NVRTC_SUCCESS && !log.empty())
            throw Error(ErrorKind::runtime,
                        join("NVRTC failed on kernel '", request.name,
                             "': ", api.nvrtcGetErrorString(outcome.result), "\n", log));
        program.check(outcome.result, "nvrtcCompileProgram", request);

        Binary binary;
        binary.log = std::move(log);
        for (const std::string& expression : request.name_expressions) {
            const char* lowered = nullptr;
            program.check(api.nvrtcGetLoweredName(program.handle, expression.c_str(), &lowered),
                          "nvrtcGetLoweredName", request);
            binary.lowered_names.emplace_back(expression, lowered);
        }
        read_image(program, request, binary);
        return binary;
    }

  private:
    // An -arch of the user's own decides between cubin and PTX, so ask which one there is.
    static void read_image(const Program& program, const CompileRequest& request, Binary& binary) {
        const NvrtcApi& api = program.api;
        std::size_t size = 0;
        if (api.nvrtcGetCUBINSize(program.handle, &size) == NVRTC_SUCCESS && size != 0) {
            binary.image.resize(size);
            program.check(
                api.nvrtcGetCUBIN(program.handle, reinterpret_cast<char*>(binary.image.data())),
                "nvrtcGetCUBIN", request);
            return;
        }
        program.check(api.nvrtcGetPTXSize(program.handle, &size), "nvrtcGetPTXSize", request);
        binary.image.resize(size);
        program.check(api.nvrtcGetPTX(program.handle, reinterpret_cast<char*>(binary.image.data())),
                      "nvrtcGetPTX", request);
    }

    mutable std::mutex mutex_;
    mutable std::string identity_;
};

} // namespace

const Backend& nvrtc_backend() {
    static const auto* const once = new NvrtcBackend;
    return *once;
}

void preload_nvrtc() noexcept {
    static std::once_flag once;
    try {
        std::call_once(once, [] {
            std::thread([] {
                try {
                    (void)nvrtc();
                } catch (...) { // whoever compiles is told
                }
            }).detach();
        });
    } catch (...) { // no thread to be had: the first compile opens it
    }
}

} // namespace quern
