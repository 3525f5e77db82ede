// See leading_image.h. An image is used only while every file that it took in holds what it held.
#include "compiler/host/leading_image.h"
#include "compiler/host/background.h"
#include "compiler/host/precompiled.h"
#include "compiler/host/prelude_image.h"
#include "compiler/host/search.h"
#include "compiler/host/session.h"
#include "compiler/host/write_image.h"
#include <algorithm>
#include <atomic>
#include <clang/Lex/Preprocessor.h>
#include <llvm/Support/FileSystem.h>
#include <map>
#include <mutex>
#include <optional>

namespace quern::host {
namespace {

// Nothing is gained by headers that the program brings along, or by ours.
bool has_toolkit_header(const FrontEndInput& input, const Leading& leading) {
    const auto memory = make_files();
    return std::ranges::any_of(leading.includes, [&](const std::string& written) {
        const auto name = written.substr(1, written.size() - 2);
        return !memory->exists("/quern/include/" + name) &&
               std::ranges::none_of(input.headers,
                                    [&](const SourceFile& file) { return file.name == name; });
    });
}

// All that decides what Clang makes of the lines, but for the contents of files on disk.
std::string key_of(const FrontEndInput& input, const std::string& text) {
    std::string given;
    for (const auto& header : input.headers)
        given.append(header.name).append("\n").append(header.text).append("\n");
    std::string key = image_name(input) + "\n" + text;
    key += "given " + std::to_string(hash_of(given)) + "\n";
    for (const auto& folder : input.toolkit_folders)
        key += "in " + folder + "\n";
    return key;
}

// What a file looked like when its contents were found right.
struct Stamp {
    std::uint64_t size = 0;
    llvm::sys::TimePoint<> changed;
    llvm::sys::fs::UniqueID id;
    bool operator==(const Stamp&) const = default;
};

bool is_right(const ImageRecord::File& file, Stamp& known) {
    llvm::sys::fs::file_status status;
    if (llvm::sys::fs::status(file.path, status))
        return false;
    const Stamp now{status.getSize(), status.getLastModificationTime(), status.getUniqueID()};
    if (now == known)
        return true;
    const auto contents = llvm::MemoryBuffer::getFile(file.path);
    if (!contents || hash_of((*contents)->getBuffer()) != file.hash)
        return false;
    known = now;
    return true;
}

// One list of headers in this process.
class Slot {
  public:
    std::uint64_t used = 0; // by the shelf's count
    std::atomic<bool> fails = false;

    std::shared_ptr<const LeadingImage> current() {
        const std::scoped_lock lock(guard_);
        if (!image_)
            return nullptr;
        const auto& files = image_->record.files;
        stamps_.resize(files.size());
        for (std::size_t i = 0; i < files.size(); ++i)
            if (!is_right(files[i], stamps_[i]))
                return nullptr;
        return image_;
    }
    void take(ImageRecord record, const std::string& text) {
        const std::scoped_lock lock(guard_);
        image_ = std::make_shared<const LeadingImage>(LeadingImage{text, std::move(record)});
        stamps_.clear();
    }

  private:
    std::mutex guard_;
    std::shared_ptr<const LeadingImage> image_;
    std::vector<Stamp> stamps_;
};

// The newest few. Never destroyed: threads may still compile while the process ends.
class Shelf {
  public:
    static Shelf& of_process() {
        static auto* const once = new Shelf;
        return *once;
    }
    std::shared_ptr<Slot> slot(const std::string& key) {
        constexpr std::size_t room = 8;
        const std::scoped_lock lock(guard_);
        auto& found = slots_[key];
        if (!found)
            found = std::make_shared<Slot>();
        found->used = ++count_;
        const auto kept = found;
        if (slots_.size() > room)
            slots_.erase(std::ranges::min_element(
                slots_, {}, [](const auto& entry) { return entry.second->used; }));
        return kept;
    }

  private:
    std::mutex guard_;
    std::map<std::string, std::shared_ptr<Slot>> slots_;
    std::uint64_t count_ = 0;
};

// What it takes to make an image when the request is gone.
struct Order {
    std::shared_ptr<Slot> slot;
    std::string key, text;
    std::string_view precompiled = {}; // as long as the process
    Options options = {};
    std::vector<std::pair<std::string, std::string>> headers = {};
    std::vector<std::string> folders = {};
    std::optional<quern_cc_store> store = {};

    void carry_out() const {
        std::vector<SourceFile> files;
        for (const auto& [name, contents] : headers)
            files.push_back({name, contents});
        const FrontEndInput input{.main = {},
                                  .headers = files,
                                  .name_expressions = {},
                                  .toolkit_folders = folders,
                                  .options = &options,
                                  .cpu = nullptr};
        slot->fails = true; // also when Clang crashes
        ImageRecord record;
        std::string log; // the text itself will be told
        if (!build_leading_image(input, text, precompiled, record, log))
            return;
        slot->fails = false;
        if (store) {
            const auto bytes = encode_record(record);
            store->keep(store->state, key.c_str(), bytes.data(), bytes.size());
        }
        slot->take(std::move(record), text);
    }
};

void begin_image(const FrontEndInput& input, std::string_view precompiled, Order order) {
    order.precompiled = precompiled;
    order.options.standard = input.options->standard;
    for (const auto& header : input.headers)
        order.headers.emplace_back(header.name, header.text);
    order.folders.assign(input.toolkit_folders.begin(), input.toolkit_folders.end());
    if (input.store)
        order.store = *input.store;
    start_in_background([order = std::move(order)] { order.carry_out(); });
}

void look_in_store(const quern_cc_store& store, const std::string& key, const std::string& text,
                   Slot& slot) {
    struct Taker {
        const std::string& text;
        Slot& slot;
    } taker{text, slot};
    const auto take = [](void* taker, const void* bytes, size_t size) {
        const auto& [text, slot] = *static_cast<Taker*>(taker);
        ImageRecord record;
        if (decode_record({static_cast<const char*>(bytes), size}, record))
            slot.take(std::move(record), text);
    };
    store.find(store.state, key.c_str(), take, &taker);
}

} // namespace

bool build_leading_image(const FrontEndInput& input, const std::string& text,
                         std::string_view precompiled, ImageRecord& record, std::string& log) {
    auto search = open_search(input, precompiled, Cpu{"x86-64", {}});
    add_file(*search.memory, leading_path, text);
    search.words.insert(search.words.end(), {"-include-pch", precompiled_path, "-emit-pch",
                                             "-fpch-instantiate-templates", "-w", leading_path});
    if (input.toolkit_folders.empty())
        parse_whole_templates(search.words);
    Session session(log);
    if (!session.open(search.words, search.files) || !write_image(*session.instance, record.image))
        return false;
    const auto& sources = session.instance->getSourceManager();
    for (auto at = sources.fileinfo_begin(); at != sources.fileinfo_end(); ++at) {
        const auto name = at->first.getName();
        const auto contents = at->second->getBufferDataIfLoaded();
        if (contents && !search.memory->exists(name))
            record.files.push_back({name.str(), hash_of(*contents)});
    }
    for (const auto& word : session.instance->getPreprocessor().getIdentifierTable())
        record.words.push_back(hash_of(word.getKey()));
    std::ranges::sort(record.words);
    return true;
}

namespace {

std::shared_ptr<const LeadingImage> find_toolkit_image(const FrontEndInput& input,
                                                       const Leading& leading,
                                                       std::string_view precompiled) {
    if (input.toolkit_folders.empty() || !has_toolkit_header(input, leading))
        return nullptr;
    std::string text;
    for (const auto& written : leading.includes)
        text.append("#include ").append(written).append("\n");
    const auto key = key_of(input, text);
    const auto slot = Shelf::of_process().slot(key);
    auto image = slot->current();
    if (!image && input.store) {
        look_in_store(*input.store, key, text, *slot);
        image = slot->current();
    }
    if (!image && !slot->fails)
        begin_image(input, precompiled, {.slot = slot, .key = key, .text = text});
    return image;
}

} // namespace

std::shared_ptr<const LeadingImage> find_leading_image(const FrontEndInput& input,
                                                       const Leading& leading,
                                                       std::string_view precompiled) {
    auto macros = leading.macros;
    if (!input.use_images || leading.includes.empty() || !input.options->folders.empty() ||
        input.options->default_device || !read_macros(input.options->preamble, macros))
        return nullptr;
    auto image = find_prelude_image(input, leading);
    if (!image)
        image = find_toolkit_image(input, leading, precompiled);
    if (image)
        for (const auto& macro : macros)
            if (std::ranges::binary_search(image->record.words, hash_of(macro)))
                return nullptr;
    return image;
}

} // namespace quern::host
