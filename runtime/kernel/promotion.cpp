// See promotion.h. What goes wrong on the way changes nothing: the kernels stay as they are.
#include "runtime/kernel/promotion.h"

#include "runtime/host/promotion.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>

#include <unistd.h>

namespace quern {
namespace {

constexpr std::string_view waiting_option = "--quern-waiting";

// The process must not end while a compiler runs in it.
class Running {
  public:
    static Running& all() {
        static auto* const once = [] {
            auto* made = new Running;
            std::atexit([] { all().wait(); });
            return made;
        }();
        return *once;
    }
    void begin() {
        const std::lock_guard lock(mutex_);
        ++count_;
        process_ = getpid();
    }
    void end() {
        const std::lock_guard lock(mutex_);
        --count_;
        none_.notify_all();
    }
    void wait() {
        if (getpid() != process_) // a forked child has none of these threads
            return;
        std::unique_lock lock(mutex_);
        none_.wait(lock, [&] { return count_ == 0; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable none_;
    int count_ = 0;
    pid_t process_ = 0;
};

} // namespace

class Promotion {
  public:
    Promotion(const RawSource& source, const Arch& arch, std::string name, CUmodule module)
        : source_(source), arch_(arch), name_(std::move(name)), module_(module) {
        source_.options.push_back(std::string(waiting_option) + "=regions");
    }
    ~Promotion() {
        if (!thread_.joinable())
            return;
        if (getpid() == process_)
            thread_.join();
        else
            new std::thread(std::move(thread_)); // a forked child: there is no such thread
    }
    Promotion(const Promotion&) = delete;
    Promotion& operator=(const Promotion&) = delete;

    void start() noexcept {
        Running::all().begin();
        process_ = getpid();
        try {
            thread_ = std::thread([this] {
                run();
                Running::all().end();
            });
        } catch (...) { // no thread to be had
            Running::all().end();
        }
    }

  private:
    void run() noexcept {
        try {
            const CompiledRaw better = compile_raw(source_, arch_, name_, "");
            (void)host::replace_code(module_, better.binary.image);
        } catch (...) { // what compiled once may be too much for the second tier
        }
    }

    RawSource source_;
    Arch arch_;
    std::string name_;
    CUmodule module_;
    std::thread thread_;
    pid_t process_ = 0; // that started it
};

std::shared_ptr<Promotion> promote_when_hot(const RawSource& source, const Arch& arch,
                                            const std::string& name, CUmodule module) {
    const bool decided =
        std::any_of(source.options.begin(), source.options.end(),
                    [](const std::string& option) { return option.starts_with(waiting_option); });
    if (decided)
        return nullptr;
    auto promotion = std::make_shared<Promotion>(source, arch, name, module);
    host::call_when_hot(module, [raw = promotion.get()] { raw->start(); });
    return promotion;
}

} // namespace quern
