// Calls the hook of a kernel's caller on both sides of a wait, so that bindings can let go of the
// GIL: it comes back whatever happens.
#pragma once

namespace quern {

class [[nodiscard]] Waiting {
  public:
    explicit Waiting(void (*hook)(bool entering)) : hook_(hook) {
        if (hook_)
            hook_(true);
    }
    ~Waiting() {
        if (hook_)
            hook_(false);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

  private:
    void (*hook_)(bool entering);
};

} // namespace quern
