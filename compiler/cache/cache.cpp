// CacheKey to Binary: single flight among threads, then the disk, then the compiler; and what is
// told about it.
#include "compiler/cache/cache.h"
#include "compiler/base/settings.h"
#include "compiler/base/text.h"
#include "compiler/cache/config.h"
#include "compiler/cache/disk.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <exception>
#include <future>
#include <map>
#include <mutex>

namespace quern {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;
using Clock = std::chrono::steady_clock;

constexpr std::size_t remembered_keys = 256;

double milliseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void show_line(const std::string& line) { std::fputs(line.c_str(), stderr); }

CacheConfig config_from_settings() {
    const Settings& s = settings();
    return {.folder = s.cache_dir,
            .size_bytes = s.cache_size_bytes,
            .trust_shared = s.cache_trust_shared,
            .keep_source = s.cache_source,
            .show = s.show_cache};
}

// Keys this process has seen, newest last: so that a miss can say what is different this time.
class KnownKeys {
  public:
    // The nearest of them: the one that shares most fields, the newest of equals. nullptr if there
    // is none.
    [[nodiscard]] const Fields* find_nearest(const Fields& fields) const {
        const Fields* nearest = nullptr;
        std::size_t most = 0;
        for (const Fields& known : keys_) {
            std::size_t same = 0;
            for (std::size_t k = 0; k < fields.size(); ++k)
                same += known[k].second == fields[k].second ? 1 : 0;
            if (same >= most) {
                most = same;
                nearest = &known;
            }
        }
        return nearest;
    }

    void add(Fields fields) {
        if (std::ranges::find(keys_, fields) != keys_.end())
            return;
        if (keys_.size() == remembered_keys)
            keys_.pop_front();
        keys_.push_back(std::move(fields));
    }

    void clear() { keys_.clear(); }

  private:
    std::deque<Fields> keys_;
};

} // namespace

struct Cache::State {
    explicit State(CacheConfig config) : show(config.show), disk(std::move(config)) {}

    const bool show;
    Disk disk;
    std::atomic<std::uint64_t> memory_hits = 0, disk_hits = 0, compiles = 0;

    std::mutex mutex; // of what follows
    std::map<Digest, std::shared_future<Binary>> flights;
    KnownKeys known;
    Fields last_miss;

    void note_hit(const CacheKey& key, const Digest& digest, Clock::time_point start) {
        ++disk_hits;
        if (show)
            show_line(fmt::format("quern cache: hit  {} {} from disk in {:.2f} ms\n", key.name,
                                  digest.hex().substr(0, 8), milliseconds_since(start)));
        Fields fields = key.fields();
        const std::scoped_lock lock(mutex);
        known.add(std::move(fields));
    }

    void note_miss(const CacheKey& key, const Digest& digest) {
        Fields fields = key.fields();
        std::string text;
        {
            const std::scoped_lock lock(mutex);
            const Fields* nearest = known.find_nearest(fields);
            last_miss.clear();
            for (std::size_t k = 0; k < fields.size(); ++k) {
                if (nearest != nullptr && (*nearest)[k].second == fields[k].second)
                    continue;
                last_miss.push_back(fields[k]);
                if (!show)
                    continue;
                text += join(text.empty() ? "" : "; ", fields[k].first, ": ");
                if (nearest != nullptr)
                    text += join((*nearest)[k].second, " -> ");
                text += fields[k].second;
            }
            if (nearest != nullptr && last_miss.empty())
                text = "nothing: seen before, not on disk";
            if (nearest != nullptr)
                text = "differs in " + text;
            known.add(std::move(fields));
        }
        if (show)
            show_line(join("quern cache: miss ", key.name, " ", digest.hex().substr(0, 8), " ",
                           text, "\n"));
    }

    Binary find_or_compile(const CacheKey& key, const Digest& digest,
                           const std::function<Binary()>& compile) {
        const Clock::time_point start = Clock::now();
        if (std::optional<Binary> binary = disk.find(digest)) {
            note_hit(key, digest, start);
            return std::move(*binary);
        }
        note_miss(key, digest);
        Binary binary = compile();
        ++compiles;
        disk.store(digest, binary, key.source);
        return binary;
    }
};

Cache::Cache() : Cache(config_from_settings()) {}
Cache::Cache(CacheConfig config) : state_(std::make_unique<State>(std::move(config))) {}
Cache::~Cache() = default;

Binary Cache::find_or_compile(const CacheKey& key, const std::function<Binary()>& compile) {
    const Digest digest = key.digest();
    std::promise<Binary> landing;
    std::shared_future<Binary> flight;
    bool ours = false;
    {
        const std::scoped_lock lock(state_->mutex);
        const auto known = state_->flights.find(digest);
        ours = known == state_->flights.end();
        flight = ours ? landing.get_future().share() : known->second;
        if (ours)
            state_->flights.emplace(digest, flight);
    }
    if (!ours) {
        const Binary& binary = flight.get(); // or the exception of the one who compiled
        ++state_->memory_hits;
        return binary;
    }
    try {
        landing.set_value(state_->find_or_compile(key, digest, compile));
    } catch (...) {
        landing.set_exception(std::current_exception());
    }
    {
        const std::scoped_lock lock(
            state_->mutex); // the next caller asks the disk again, or tries again
        state_->flights.erase(digest);
    }
    return flight.get();
}

std::optional<Binary> Cache::find(const CacheKey& key) { return state_->disk.find(key.digest()); }

void Cache::keep(const CacheKey& key, const Binary& binary) {
    state_->disk.store(key.digest(), binary, key.source);
}

void Cache::count_memory_hit() noexcept {
    state_->memory_hits.fetch_add(1, std::memory_order_relaxed);
}

CacheStats Cache::stats() const {
    const Disk::Totals totals = state_->disk.totals();
    CacheStats stats{.memory_hits = state_->memory_hits,
                     .disk_hits = state_->disk_hits,
                     .compiles = state_->compiles,
                     .entries = totals.entries,
                     .bytes = totals.bytes,
                     .last_miss = {}};
    const std::scoped_lock lock(state_->mutex);
    stats.last_miss = state_->last_miss;
    return stats;
}

void Cache::clear() {
    state_->disk.clear();
    const std::scoped_lock lock(state_->mutex);
    state_->known.clear();
}

std::string Cache::folder() const { return state_->disk.folder(); }
std::string Cache::take_warning() { return state_->disk.take_warning(); }

} // namespace quern
