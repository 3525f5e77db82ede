// The one search for libraries and headers at run time, and dlopen.
#include "compiler/base/library.h"
#include "compiler/base/library_table.h"
#include "compiler/base/settings.h"
#include "compiler/base/text.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include <dlfcn.h>
#include <link.h>

namespace quern {
namespace {

namespace fs = std::filesystem;

struct Search {
    std::mutex mutex;
    const std::vector<std::string>* package_folders = new std::vector<std::string>;
    std::map<std::string, Library, std::less<>> loaded;
    std::map<std::string, std::string, std::less<>>
        found;                              // chosen by find_library, perhaps not loaded yet
    std::atomic<int> driver_cuda_major = 0; // of the driver that load_library opened
};

Search& search() {
    static auto* const once = new Search; // libraries outlive every static destructor
    return *once;
}

// /usr/local/cuda, then /usr/local/cuda-13.1, cuda-13.0, cuda-12.8: newest first.
std::vector<std::string> local_toolkits() {
    std::vector<std::pair<std::pair<int, int>, std::string>> found;
    std::error_code failure;
    for (const auto& entry : fs::directory_iterator("/usr/local", failure)) {
        const std::string name = entry.path().filename();
        if (name == "cuda")
            found.push_back({{1 << 20, 0}, entry.path()});
        if (!name.starts_with("cuda-"))
            continue;
        int major = 0, minor = 0;
        const char* last = name.data() + name.size();
        const auto [dot, unread] = std::from_chars(name.data() + 5, last, major);
        if (unread != std::errc{})
            continue;
        if (dot != last)
            std::from_chars(dot + 1, last, minor);
        found.push_back({{major, minor}, entry.path()});
    }
    std::ranges::sort(found, std::greater{});
    std::vector<std::string> folders;
    for (auto& [version, path] : found)
        folders.push_back(std::move(path));
    return folders;
}

std::string own_folder() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr)
        return {};
    return fs::path(info.dli_fname).parent_path();
}

int cuda_major_of(const Library& driver) {
    const auto ask = reinterpret_cast<int (*)(int*)>(driver.symbol("cuDriverGetVersion"));
    int version = 0;
    return ask != nullptr && ask(&version) == 0 ? version / 1000 : 0;
}

// The CUDA release that the driver in this process serves, if one is open already; nothing is
// opened to find out. The loader is asked only where somebody else opened it: while another thread
// opens a large library, it answers late.
int driver_cuda_major() {
    if (const int known = search().driver_cuda_major; known != 0)
        return known;
    void* handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr)
        return 0;
    const int major = cuda_major_of(Library(handle, {}));
    dlclose(handle);
    return major;
}

std::string path_of(void* handle, const std::string& asked) {
    link_map* map = nullptr;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name[0] != '\0')
        return map->l_name;
    return asked;
}

// NVRTC opens its built-ins by bare name. Opened here from NVRTC's own folder, they are found
// wherever that is.
void open_companions(const std::string& library_path) {
    std::error_code failure;
    for (const auto& entry :
         fs::directory_iterator(fs::path(library_path).parent_path(), failure)) {
        const std::string name = entry.path().filename();
        if (name.starts_with("libnvrtc-builtins.so."))
            dlopen(entry.path().c_str(), RTLD_LAZY | RTLD_LOCAL);
    }
}

Library try_open(const std::string& path, std::vector<std::string>* tried) {
    const bool by_path = path.find('/') != std::string::npos;
    if (tried != nullptr)
        tried->push_back(by_path ? path : path + " (the loader's path)");
    std::error_code failure;
    if (by_path && !fs::exists(path, failure))
        return Library();
    void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) {
        const char* reason = dlerror(); // there, and not loadable: say why
        if (by_path && tried != nullptr && reason != nullptr)
            tried->back() += std::string(": ") + reason;
        return Library();
    }
    return Library(handle, path_of(handle, path));
}

} // namespace

Library::Library(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

void* Library::symbol(const char* name) const noexcept {
    return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

SearchFolders search_folders(Place place) {
    SearchFolders folders;
    if (place == Place::driver)
        return {{}, {"/usr/local/nvidia/lib64", "/usr/lib/wsl/lib"}};
    if (place == Place::system)
        return {};
    for (const std::string& package : package_folders()) {
        folders.before.push_back(package + "/lib");
        folders.before.push_back(package);
    }
    if (place == Place::ours) {
        if (const std::string own = own_folder(); !own.empty())
            folders.before.push_back(own);
        return folders;
    }
    if (const std::string& root = settings().cuda_path; !root.empty())
        for (const char* below : {"/lib64", "/lib", "/targets/x86_64-linux/lib"})
            folders.before.push_back(root + below);
    if (const std::string& root = settings().conda_prefix; !root.empty())
        for (const char* below : {"/lib", "/targets/x86_64-linux/lib"})
            folders.before.push_back(root + below);
    for (const std::string& root : local_toolkits())
        folders.after.push_back(root + "/lib64");
    return folders;
}

bool visit_candidates(const LibraryRow& wanted,
                      const std::function<bool(const std::string&)>& visit) {
    const SearchFolders folders = search_folders(wanted.place);
    const int newest_served = wanted.place == Place::toolkit ? driver_cuda_major() : 0;
    for (const bool too_new : {false, true}) {
        if (too_new && newest_served == 0)
            break;
        const auto look_in = [&](const std::string& prefix) {
            return std::ranges::any_of(wanted.sonames, [&](const Soname& soname) {
                if (soname.file.empty())
                    return false;
                if ((newest_served != 0 && soname.cuda_major > newest_served) != too_new)
                    return false;
                return visit(prefix + std::string(soname.file));
            });
        };
        const auto look_below = [&](const std::string& folder) { return look_in(folder + "/"); };
        if (std::ranges::any_of(folders.before, look_below) || look_in(""))
            return true;
        if (std::ranges::any_of(folders.after, look_below))
            return true;
    }
    const bool named = wanted.place == Place::ours && !settings().cc_library.empty();
    return named && visit(settings().cc_library);
}

Library load_row(const LibraryRow& wanted, std::vector<std::string>* tried) {
    for (const std::string_view needed : wanted.needs)
        if (!needed.empty())
            (void)load_library(needed);
    Library library;
    const auto open = [&](const std::string& candidate) {
        library = try_open(candidate, tried);
        return static_cast<bool>(library);
    };
    std::string chosen;
    {
        const std::scoped_lock lock(search().mutex);
        if (const auto found = search().found.find(wanted.name); found != search().found.end())
            chosen = found->second;
    }
    if ((chosen.empty() || !open(chosen)) && !visit_candidates(wanted, open))
        return Library();
    if (wanted.name == "nvrtc")
        open_companions(library.path());
    return library;
}

Library load_library(std::string_view name) try {
    {
        const std::scoped_lock lock(search().mutex);
        if (const auto known = search().loaded.find(name); known != search().loaded.end())
            return known->second;
    }
    const auto* wanted = std::ranges::find(library_table, name, &LibraryRow::name);
    if (wanted == library_table.end())
        return Library();
    Library library =
        load_row(*wanted, nullptr); // two threads may both search; dlopen gives both one handle
    if (library && name == "cuda")
        search().driver_cuda_major = cuda_major_of(library);
    const std::scoped_lock lock(search().mutex);
    return library ? search().loaded.emplace(name, library).first->second : library;
} catch (...) {
    return Library(); // out of memory while searching: not found is all that can be said
}

std::string find_library(std::string_view name) try {
    {
        const std::scoped_lock lock(search().mutex);
        if (const auto known = search().loaded.find(name); known != search().loaded.end())
            return known->second.path();
        if (const auto found = search().found.find(name); found != search().found.end())
            return found->second;
    }
    const auto* wanted = std::ranges::find(library_table, name, &LibraryRow::name);
    if (wanted == library_table.end())
        return {};
    std::string path;
    visit_candidates(*wanted, [&](const std::string& candidate) {
        std::error_code failure;
        if (candidate.find('/') == std::string::npos) // only the loader knows its own path
            path = try_open(candidate, nullptr).path();
        else if (fs::exists(candidate, failure))
            path = candidate;
        return !path.empty();
    });
    if (path.empty())
        return {};
    const std::scoped_lock lock(search().mutex);
    return search().found.emplace(name, path).first->second;
} catch (...) {
    return {};
}

void set_package_folders(std::vector<std::string> folders) {
    const std::scoped_lock lock(search().mutex);
    // What was told before stays where it is: its readers hold a reference.
    search().package_folders = new std::vector<std::string>(std::move(folders));
}

const std::vector<std::string>& package_folders() {
    const std::scoped_lock lock(search().mutex);
    return *search().package_folders;
}

std::vector<std::string> cuda_include_folders() {
    std::vector<std::string> roots = package_folders();
    for (const std::string& root : {settings().cuda_path, settings().conda_prefix})
        if (!root.empty())
            roots.push_back(root);
    std::ranges::copy(local_toolkits(), std::back_inserter(roots));

    std::error_code failure;
    std::vector<std::string> folders;
    std::array<bool, header_parts.size()> found{};
    const auto take = [&](const std::string& folder) {
        bool brings = false;
        for (std::size_t part = 0; part < header_parts.size(); ++part)
            if (!found[part] &&
                fs::exists(folder + "/" + std::string(header_parts[part].marker), failure))
                brings = found[part] = true;
        if (brings)
            folders.push_back(folder);
    };
    for (const std::string& root : roots)
        for (const char* below : {"/include", "/targets/x86_64-linux/include"}) {
            take(root + below);
            take(root + below + "/cccl");
        }
    return folders;
}

std::string header_remedy(std::string_view name) {
    const HeaderPart* best = nullptr;
    for (const HeaderPart& part : header_parts)
        for (const std::string_view start : part.starts)
            if (!start.empty() && name.starts_with(start))
                best = &part;
    if (best == nullptr)
        return {};
    return join("pip install ", best->package, " (for CUDA 12: ", best->package,
                "-cu12), or set CUDA_PATH to a CUDA toolkit");
}

} // namespace quern
