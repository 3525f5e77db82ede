// A table from short byte keys to entries that live as long as the table: read without a lock,
// written under the owner's mutex.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>

namespace quern {

struct ByteKey {
    static constexpr std::size_t capacity = 256;
    std::size_t size = 0;
    std::array<std::uint8_t, capacity> bytes;

    void add(std::uint8_t byte) { bytes[size++] = byte; }
    void add_word(std::uint64_t word) {
        std::memcpy(bytes.data() + size, &word, sizeof word);
        size += sizeof word;
    }
    [[nodiscard]] std::uint64_t hash() const noexcept {
        std::uint64_t hash = size * 0x9e3779b97f4a7c15u;
        std::size_t at = 0;
        for (; at + 8 <= size; at += 8) {
            std::uint64_t word;
            std::memcpy(&word, bytes.data() + at, 8);
            hash = (hash ^ word) * 0xff51afd7ed558ccdu;
            hash ^= hash >> 32;
        }
        for (; at < size; ++at)
            hash = (hash ^ bytes[at]) * 0x100000001b3u;
        return hash ^ hash >> 29;
    }
    friend bool operator==(const ByteKey& a, const ByteKey& b) noexcept {
        return a.size == b.size && std::memcmp(a.bytes.data(), b.bytes.data(), a.size) == 0;
    }
};

template <class Entry> class ByteTable {
  public:
    ByteTable() = default;
    ByteTable(const ByteTable&) = delete;
    ByteTable& operator=(const ByteTable&) = delete;
    ~ByteTable() {
        for (auto& bucket : buckets_)
            for (Node* node = bucket.load(); node != nullptr;)
                delete std::exchange(node, node->next);
    }

    [[nodiscard]] Entry* find(const ByteKey& key) const noexcept {
        for (Node* node = bucket(key).load(std::memory_order_acquire); node != nullptr;
             node = node->next)
            if (node->key == key)
                return node->entry.get();
        return nullptr;
    }
    // The caller holds the mutex that guards writing. An entry that is already there wins.
    Entry& insert(const ByteKey& key, std::unique_ptr<Entry> entry) {
        Entry* const present = find(key);
        return present != nullptr ? *present : add(key, std::move(entry));
    }
    // The same, but the new one is found from now on; the old one lives on for those who have it.
    Entry& add(const ByteKey& key, std::unique_ptr<Entry> entry) {
        std::atomic<Node*>& place = const_cast<std::atomic<Node*>&>(bucket(key));
        Node* node = new Node{key, std::move(entry), place.load(std::memory_order_relaxed)};
        place.store(node, std::memory_order_release);
        return *node->entry;
    }

  private:
    struct Node {
        ByteKey key;
        std::unique_ptr<Entry> entry;
        Node* next;
    };
    static constexpr std::size_t bucket_count = 32;
    [[nodiscard]] const std::atomic<Node*>& bucket(const ByteKey& key) const noexcept {
        return buckets_[key.hash() % bucket_count];
    }
    std::array<std::atomic<Node*>, bucket_count> buckets_{};
};

} // namespace quern
