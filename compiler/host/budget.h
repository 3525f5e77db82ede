// How long a program may be worked on. It is this thread's own time that counts, so that what else
// the machine does changes nothing.
#pragma once
#include <chrono>

namespace quern::host {

class Budget {
  public:
    Budget() = default;                                         // without an end
    explicit Budget(unsigned limit_ms);                         // from now on; 0: without an end
    [[nodiscard]] bool is_spent() const;                        // once it is, it stays so
    [[nodiscard]] bool was_refused() const { return refused_; } // is_spent() has said so

  private:
    std::chrono::nanoseconds end_{0};
    mutable bool refused_ = false;
};

} // namespace quern::host
