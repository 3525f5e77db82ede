// The host compiler: CUDA C++ becomes an x86-64 object. libquern_cc.so is opened by the first
// compile, never earlier.
#include "compiler/backend/backend.h"
#include "compiler/backend/includes.h"
#include "compiler/base/error.h"
#include "compiler/base/library.h"
#include "compiler/base/text.h"
#include "compiler/host/quern_cc.h"

#include <algorithm>
#include <memory>
#include <mutex>

#ifndef QUERN_LLVM
#define QUERN_LLVM 1 // the build says 0 when it leaves the host compiler out
#endif

namespace quern {
namespace {

struct CcApi {
    decltype(&quern_cc_compile) compile = nullptr;
    decltype(&quern_cc_free) free = nullptr;
    decltype(&quern_cc_identity) identity = nullptr;
    decltype(&quern_cc_why_ignored) why_ignored = nullptr;
};

[[noreturn]] void throw_missing() {
    std::string text = QUERN_LLVM ? "the CPU compiler (libquern_cc.so) was not found"
                                  : "this build of quern has no CPU compiler (QUERN_LLVM=OFF)";
    const LibraryFinding finding = survey_library("quern_cc");
    for (const std::string& place : finding.tried)
        text += "\n    tried " + place;
    text += "\n    help: " + finding.remedy;
    throw Error(ErrorKind::runtime, text);
}

CcApi open_cc() {
    const Library library = load_library("quern_cc");
    if (!library)
        throw_missing();
    CcApi api;
    api.compile = reinterpret_cast<decltype(api.compile)>(library.symbol("quern_cc_compile"));
    api.free = reinterpret_cast<decltype(api.free)>(library.symbol("quern_cc_free"));
    api.identity = reinterpret_cast<decltype(api.identity)>(library.symbol("quern_cc_identity"));
    api.why_ignored =
        reinterpret_cast<decltype(api.why_ignored)>(library.symbol("quern_cc_why_ignored"));
    if (api.compile == nullptr || api.free == nullptr || api.identity == nullptr ||
        api.why_ignored == nullptr)
        throw Error(ErrorKind::runtime, join(library.path(), " is not quern's CPU compiler"));
    return api;
}

const CcApi& cc() {
    static const CcApi once = open_cc();
    return once;
}

const KeptParts& parts_of(void* state) { return *static_cast<const KeptParts*>(state); }

// The C door to KeptParts. What throws there is as good as nothing kept.
quern_cc_store store_for(const KeptParts& parts) {
    quern_cc_store store{};
    store.state = const_cast<KeptParts*>(&parts);
    store.find = [](void* state, const char* key,
                    void (*take)(void* taker, const void* bytes, size_t size), void* taker) {
        try {
            if (const auto bytes = parts_of(state).find(key); !bytes.empty())
                take(taker, bytes.data(), bytes.size());
        } catch (...) {
        }
    };
    store.keep = [](void* state, const char* key, const void* bytes, size_t size) {
        try {
            const auto* first = static_cast<const std::byte*>(bytes);
            parts_of(state).keep(key, std::vector<std::byte>(first, first + size));
        } catch (...) {
        }
    };
    return store;
}

class HostBackend final : public Backend {
  public:
    // The library's build id, read from its file: names Clang, LLVM and our passes exactly, and
    // opens nothing.
    [[nodiscard]] std::string identity() const override {
        const std::scoped_lock lock(mutex_);
        if (!identity_.empty())
            return identity_;
        const std::string path = find_library("quern_cc");
        if (path.empty())
            throw_missing();
        return identity_ = join("quern cc ", QUERN_CC_ABI, " (build ",
                                library_build_id(path).substr(0, 16), ")");
    }

    [[nodiscard]] std::string why_ignored(const std::string& option) const override {
        return cc().why_ignored(option.c_str());
    }

    [[nodiscard]] Binary compile(const CompileRequest& request) const override {
        const CcApi& api = cc();
        std::vector<quern_cc_file> headers;
        for (const SourceFile& header : request.headers)
            headers.push_back({header.name.c_str(), header.text.c_str(), header.text.size()});
        std::vector<const char*> options, expressions;
        for (const std::string& option : request.options)
            options.push_back(option.c_str());
        for (const std::string& expression : request.name_expressions)
            expressions.push_back(expression.c_str());

        std::vector<std::string> folders;
        if (!foreign_includes(request).empty())
            folders = cuda_include_folders();
        std::vector<const char*> toolkit;
        for (const std::string& folder : folders)
            toolkit.push_back(folder.c_str());
        quern_cc_store store{};
        if (request.parts != nullptr)
            store = store_for(*request.parts);
        const quern_cc_request asked{
            .abi = QUERN_CC_ABI,
            .file_name = request.name.c_str(),
            .source = request.source.c_str(),
            .source_size = request.source.size(),
            .headers = headers.data(),
            .header_count = headers.size(),
            .options = options.data(),
            .option_count = options.size(),
            .arch = request.arch.name.c_str(),
            .name_expressions = expressions.data(),
            .name_expression_count = expressions.size(),
            .toolkit_folders = toolkit.data(),
            .toolkit_folder_count = toolkit.size(),
            .store = request.parts != nullptr ? &store : nullptr,
        };
        const std::unique_ptr<quern_cc_result, decltype(api.free)> result(api.compile(&asked),
                                                                          api.free);
        if (!result)
            throw Error(ErrorKind::runtime,
                        join("the CPU compiler ran out of memory on kernel '", request.name, "'"));

        Binary binary;
        if (result->log != nullptr)
            binary.log = result->log;
        while (binary.log.ends_with('\n'))
            binary.log.pop_back();
        switch (result->status) {
        case QUERN_CC_OK:
            break;
        case QUERN_CC_ERROR:
            binary.log = with_header_remedies(std::move(binary.log));
            throw CompileError(binary.log, request.name, request.source, binary.log);
        case QUERN_CC_REFUSED:
            throw Error(ErrorKind::not_implemented, binary.log);
        default:
            throw Error(ErrorKind::runtime, join("the CPU compiler failed on kernel '",
                                                 request.name, "': ", binary.log));
        }
        if (result->facts != nullptr)
            binary.facts = result->facts;
        const auto* object = static_cast<const std::byte*>(result->object);
        binary.image.assign(object, object + result->object_size);
        const std::size_t names =
            std::min(result->lowered_name_count, request.name_expressions.size());
        for (std::size_t k = 0; k < names; ++k)
            binary.lowered_names.emplace_back(request.name_expressions[k],
                                              result->lowered_names[k]);
        return binary;
    }

  private:
    mutable std::mutex mutex_;
    mutable std::string identity_;
};

} // namespace

const Backend& host_backend() {
    static const auto* const once = new HostBackend;
    return *once;
}

const Backend& backend_for(Target target) {
    return target == Target::gpu ? nvrtc_backend() : host_backend();
}

} // namespace quern
