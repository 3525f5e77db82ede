// nvcc: CUDA C++ becomes a cubin.
#include "compiler/backend/nvcc.h"

#include "compiler/base/error.h"
#include "compiler/base/library.h"
#include "compiler/base/settings.h"
#include "compiler/base/text.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace quern {
namespace {

namespace fs = std::filesystem;

class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::error_code failure;
        std::string name = fs::temp_directory_path(failure) / "quern-nvcc-XXXXXX";
        if (failure || mkdtemp(name.data()) == nullptr)
            throw Error(ErrorKind::io,
                        join("no folder for nvcc's files can be made at ", name, ": ",
                             std::strerror(errno),
                             "\n    help: set TMPDIR to a folder that can be written"));
        path = name;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    fs::path path;
};

std::string read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file)
        throw Error(ErrorKind::io, join("cannot write ", path.string(), " for nvcc"));
}

// Runs a program to its end; everything it says goes to the file `log`. Its exit status, or -1 when
// it could not be started.
int run(const std::vector<std::string>& words, const fs::path& log) {
    std::vector<char*> arguments;
    for (const std::string& word : words)
        arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    pid_t child = 0;
    const int failure =
        posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failure != 0)
        return -1;
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

std::string find_nvcc() {
    std::vector<fs::path> places;
    if (!settings().cuda_path.empty())
        places.emplace_back(settings().cuda_path);
    for (const std::string& folder : cuda_include_folders())
        places.push_back(fs::path(folder).parent_path());
    std::error_code failure;
    for (const fs::path& place : places)
        if (const fs::path nvcc = place / "bin" / "nvcc"; fs::is_regular_file(nvcc, failure))
            return nvcc;
    return "nvcc"; // PATH
}

class NvccBackend final : public Backend {
  public:
    [[nodiscard]] std::string identity() const override {
        const std::scoped_lock lock(mutex_);
        if (!identity_.empty())
            return identity_;
        const TemporaryFolder folder;
        nvcc_ = find_nvcc();
        const fs::path log = folder.path / "version";
        if (run({nvcc_, "--version"}, log) != 0)
            throw Error(
                ErrorKind::runtime,
                "backend='nvcc' needs nvcc, which is not installed here\n    help: install a "
                "CUDA toolkit and set CUDA_PATH, or use backend='nvrtc'");
        std::string text = read_file(log); // its last line names the build
        while (text.ends_with('\n'))
            text.pop_back();
        return identity_ = join("nvcc (", text.substr(text.rfind('\n') + 1), ")");
    }

    [[nodiscard]] Binary compile(const CompileRequest& request) const override {
        (void)identity(); // finds nvcc
        const TemporaryFolder folder;
        const fs::path source = folder.path / fs::path(request.name).filename(),
                       cubin = folder.path / "kernel.cubin", log = folder.path / "log";
        write_file(source, request.source);
        for (const SourceFile& header : request.headers)
            if (header.name.starts_with("quern/") || header.name.starts_with("cupy/"))
                // of the C library nvcc has its own
                write_file(folder.path / "include" / header.name, header.text);
        const auto given = [&](std::initializer_list<std::string_view> starts) {
            return std::ranges::any_of(request.options, [&](const std::string& option) {
                return std::ranges::any_of(
                    starts, [&](std::string_view start) { return option.starts_with(start); });
            });
        };
        std::vector<std::string> words{nvcc_, "--cubin", "-x", "cu"};
        if (!given({"-arch", "--gpu-architecture", "-gencode", "--generate-code"}))
            words.push_back("-arch=" + request.arch.name);
        if (!given({"-std", "--std"}))
            words.emplace_back("-std=c++17");
        words.insert(words.end(), request.options.begin(), request.options.end());
        words.push_back("-I" + (folder.path / "include").string());
        words.insert(words.end(), {"-o", cubin, source});

        const int status = run(words, log);
        Binary binary;
        binary.log = read_file(log);
        // Messages name the file as the program's author knows it.
        for (std::size_t at = 0; (at = binary.log.find(source.string(), at)) != std::string::npos;
             at += request.name.size())
            binary.log.replace(at, source.string().size(), request.name);
        while (binary.log.ends_with('\n'))
            binary.log.pop_back();
        if (status != 0)
            throw CompileError(binary.log, request.name, request.source, binary.log);
        const std::string image = read_file(cubin);
        if (image.empty())
            throw Error(ErrorKind::runtime,
                        join("nvcc made no cubin of '", request.name, "'\n", binary.log));
        const auto* bytes = reinterpret_cast<const std::byte*>(image.data());
        binary.image.assign(bytes, bytes + image.size());
        return binary;
    }

  private:
    mutable std::mutex mutex_;
    mutable std::string identity_, nvcc_;
};

} // namespace

const Backend& nvcc_backend() {
    static const auto* const once = new NvccBackend;
    return *once;
}

} // namespace quern
