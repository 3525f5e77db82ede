// A scan for #include lines; and the files behind them.
#include "compiler/backend/includes.h"
#include "compiler/base/library.h"
#include "compiler/base/text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace quern {
namespace {

namespace fs = std::filesystem;

std::string_view skip_blanks(std::string_view text) {
    const std::size_t at = text.find_first_not_of(" \t");
    return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

// The name on one line, if the line is an #include of a literal name.
std::optional<std::string> name_on(std::string_view line) {
    line = skip_blanks(line);
    if (!line.starts_with('#'))
        return std::nullopt;
    line = skip_blanks(line.substr(1));
    if (!line.starts_with("include"))
        return std::nullopt;
    line = skip_blanks(line.substr(7));
    if (line.size() < 3 || (line[0] != '"' && line[0] != '<'))
        return std::nullopt;
    const std::size_t end = line.find(line[0] == '"' ? '"' : '>', 1);
    if (end == std::string_view::npos)
        return std::nullopt;
    return std::string(line.substr(1, end - 1));
}

std::optional<std::string> read_text(const std::string& path) {
    std::error_code failure;
    if (!fs::is_regular_file(path, failure))
        return std::nullopt;
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
}

// -Ifolder, -I folder, --include-path=folder
std::vector<std::string> include_folders(const std::vector<std::string>& options) {
    std::vector<std::string> folders;
    for (std::size_t k = 0; k < options.size(); ++k) {
        const std::string_view option = options[k];
        if (option == "-I" && k + 1 < options.size())
            folders.push_back(options[++k]);
        else if (option.starts_with("-I"))
            folders.emplace_back(skip_blanks(option.substr(2)));
        else if (option.starts_with("--include-path="))
            folders.emplace_back(option.substr(15));
    }
    return folders;
}

// A digest would do, but the version lines of CUDA's parts are short and say it.
std::string toolkit_label() {
    struct Line {
        const char *file, *start;
    };
    constexpr Line lines[] = {{"/cuda.h", "#define CUDA_VERSION"},
                              {"/cuda/std/__cccl/version.h", "#define CCCL_VERSION"},
                              {"/curand.h", "#define CURAND_VER_MINOR"},
                              {"/curand.h", "#define CURAND_VER_BUILD"}};
    std::string label;
    for (const std::string& folder : cuda_include_folders()) {
        label += folder;
        for (const Line& line : lines) {
            const std::string text = read_text(folder + line.file).value_or("");
            if (const std::size_t at = text.find(line.start); at != std::string::npos)
                label += text.substr(at + 7, text.find('\n', at) - at - 7);
        }
        label += '\n';
    }
    return label;
}

} // namespace

std::vector<std::string> included_names(std::string_view text) {
    std::vector<std::string> names;
    // From '#' to '#': most kernels have none, and then this is one memchr.
    for (std::size_t at = text.find('#'); at != std::string_view::npos;
         at = text.find('#', at + 1)) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        if (auto name = name_on(text.substr(at, end - at));
            name && std::ranges::find(names, *name) == names.end())
            names.push_back(std::move(*name));
    }
    return names;
}

std::vector<std::string> foreign_includes(const CompileRequest& request) {
    std::vector<std::string> foreign;
    std::vector<const SourceFile*> reached; // headers that nothing includes do not count
    const auto look_through = [&](const std::string& text) {
        for (std::string& name : included_names(text)) {
            const auto header = std::ranges::find(request.headers, name, &SourceFile::name);
            if (header != request.headers.end()) {
                if (std::ranges::find(reached, &*header) == reached.end())
                    reached.push_back(&*header);
            } else if (std::ranges::find(foreign, name) == foreign.end()) {
                foreign.push_back(std::move(name));
            }
        }
    };
    look_through(request.source);
    for (std::size_t k = 0; k < reached.size(); ++k)
        look_through(reached[k]->text);
    return foreign;
}

std::vector<SourceFile> read_included(const CompileRequest& request) {
    std::vector<SourceFile> files;
    std::vector<std::pair<std::string, std::string>>
        waiting; // name, folder of the file that includes it
    for (std::string& name : foreign_includes(request))
        waiting.emplace_back(std::move(name), "");
    const std::vector<std::string> folders = include_folders(request.options);
    std::set<std::string> seen;
    bool toolkit = false;
    while (!waiting.empty()) {
        const auto [name, beside] = std::move(waiting.back());
        waiting.pop_back();
        std::vector<std::string> places;
        if (!beside.empty())
            places.push_back(beside);
        places.insert(places.end(), folders.begin(), folders.end());
        bool found = false;
        for (const std::string& folder : places) {
            // Normal, or a/../a/../a/b.h would be a new file each time.
            const std::string path = (fs::path(folder) / name).lexically_normal();
            if (seen.contains(path))
                found = true;
            if (found)
                break;
            auto text = read_text(path);
            if (!text)
                continue;
            found = true;
            seen.insert(path);
            for (std::string& next : included_names(*text))
                waiting.emplace_back(std::move(next), fs::path(path).parent_path());
            files.push_back({path, std::move(*text)});
            break;
        }
        toolkit = toolkit || !found;
    }
    std::ranges::sort(files, {}, &SourceFile::name);
    if (toolkit)
        files.push_back({"<cuda headers>", toolkit_label()});
    return files;
}

std::string with_header_remedies(std::string log) {
    std::set<std::string> told;
    for (std::size_t at = 0; at < log.size();) { // the lines there are now
        const std::size_t end = std::min(log.find('\n', at), log.size());
        const std::string_view line = std::string_view(log).substr(at, end - at);
        at = end + 1;
        // 'x.h' file not found (Clang); cannot (or: could not) open source file "x.h" (NVRTC)
        const bool clang = line.ends_with("' file not found");
        const std::size_t nvrtc = line.find(" open source file \"");
        if (!clang && nvrtc == std::string_view::npos)
            continue;
        const std::size_t first =
            clang ? line.rfind('\'', line.size() - 17) + 1 : line.find('"', nvrtc) + 1;
        const std::string name(line.substr(first, line.find(clang ? '\'' : '"', first) - first));
        if (const std::string remedy = header_remedy(name);
            !remedy.empty() && told.insert(name).second)
            log += join("\nhelp: ", name, " was not found: ", remedy);
    }
    return log;
}

} // namespace quern
