// Room that a thread's calls use one after the other: what is in it is gone, what it has allocated
// stays.
#pragma once
#include <memory>
#include <utility>

namespace quern {

template <class T> class Scratch { // T has clear()
  public:
    Scratch() : lent_(std::move(spare())) {
        if (!lent_) // on first use, and within another use
            lent_ = std::make_unique<T>();
    }
    ~Scratch() {
        lent_->clear();
        spare() = std::move(lent_);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    [[nodiscard]] T& operator*() const noexcept { return *lent_; }
    [[nodiscard]] T* operator->() const noexcept { return lent_.get(); }

  private:
    static std::unique_ptr<T>& spare() {
        static thread_local std::unique_ptr<T> kept;
        return kept;
    }
    std::unique_ptr<T> lent_;
};

} // namespace quern
