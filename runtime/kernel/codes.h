// The texts that a kernel was compiled from, and which of them ran last.
#pragma once
#include "runtime/kernel/ahead.h"

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace quern {

// Thread safe. What is on its way is waited for before anything is told.
class Codes {
  public:
    using Listed = std::vector<std::pair<std::string, std::string>>; // dtypes, CUDA C++
    static constexpr std::size_t none = ~std::size_t{0};

    // Returns its place, which the compiled variant keeps.
    [[nodiscard]] std::size_t add(std::string dtypes, std::string code) {
        const std::lock_guard lock(mutex_);
        listed_.emplace_back(std::move(dtypes), std::move(code));
        return listed_.size() - 1;
    }
    // A variant is launched whose place is, or will be, there. It lives as long as this does.
    void launch(const std::size_t& place) noexcept {
        launched_.store(&place, std::memory_order_relaxed);
    }
    [[nodiscard]] Listed all() const {
        wait_for_ahead();
        const std::lock_guard lock(mutex_);
        return listed_;
    }
    [[nodiscard]] std::string launched() const {
        wait_for_ahead();
        const std::size_t* place = launched_.load(std::memory_order_relaxed);
        const std::lock_guard lock(mutex_);
        return place == nullptr || *place == none ? std::string() : listed_[*place].second;
    }

  private:
    mutable std::mutex mutex_;
    Listed listed_;
    std::atomic<const std::size_t*> launched_ = nullptr;
};

} // namespace quern
