// See promotion.h. What goes wrong on the way changes nothing: the kernels stay as they are.
#include "runtime/kernel/promotion.h"

#include "compiler/base/text.h"
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

    [[nodiscard]] std::string progress(const std::string& kernel) const {
        const std::lock_guard lock(mutex_);
        if (state_ == State::waiting)
            return "regions, once it has run for a while";
        if (state_ == State::compiling)
            return "regions, which are being compiled in the background";
        const auto found = std::find_if(facts_.begin(), facts_.end(),
                                        [&](const KernelFacts& row) { return row.name == kernel; });
        if (!problem_.empty() || found == facts_.end())
            return join("given up: ", problem_.empty() ? "the kernel is not there" : problem_);
        if (state_ == State::in_use && found->tier == "regions")
            return join("in use: ", tell(*found), "; compiled in the background in ",
                        fmt::format("{:.2f}", compile_ms_), " ms");
        return join("given up: ", found->reason.empty() ? "it stays what it is" : found->reason);
    }

    void start() noexcept {
        {
            const std::lock_guard lock(mutex_);
            state_ = State::compiling;
        }
        Running::all().begin();
        process_ = getpid();
        try {
            thread_ = std::thread([this] {
                run();
                Running::all().end();
            });
        } catch (...) { // no thread to be had
            give_up("no thread could be started for it");
            Running::all().end();
        }
    }

  private:
    void run() noexcept {
        try {
            CompiledRaw better = compile_raw(source_, arch_, name_, "");
            const bool is_better =
                std::any_of(better.facts.begin(), better.facts.end(),
                            [](const KernelFacts& facts) { return facts.tier == "regions"; });
            std::string problem;
            if (is_better && !host::replace_code(module_, better.binary.image))
                problem = "what was compiled does not fit the program";
            const std::lock_guard lock(mutex_);
            facts_ = std::move(better.facts);
            compile_ms_ = better.compile_ms;
            problem_ = std::move(problem);
            state_ = is_better && problem_.empty() ? State::in_use : State::given_up;
        } catch (const std::exception& error) { // what compiled once may be too much for this tier
            give_up(error.what());
        } catch (...) {
            give_up("the compiler failed");
        }
    }

    void give_up(const char* why) noexcept {
        const std::lock_guard lock(mutex_);
        state_ = State::given_up;
        try {
            problem_ = why;
        } catch (...) { // no memory even for this
        }
    }

    RawSource source_;
    Arch arch_;
    std::string name_;
    CUmodule module_;
    enum class State : unsigned char { waiting, compiling, in_use, given_up };
    mutable std::mutex mutex_; // of what follows
    State state_ = State::waiting;
    std::vector<KernelFacts> facts_;
    double compile_ms_ = 0;
    std::string problem_;

    std::thread thread_;
    pid_t process_ = 0; // that started it
};

std::string tell_progress(const Promotion& promotion, const std::string& kernel) {
    return promotion.progress(kernel);
}

std::string tell(const KernelFacts& facts) {
    std::string text = facts.tier == "regions"
                           ? join("regions: ", facts.regions,
                                  facts.regions == 1 ? " loop" : " loops", " over threads")
                       : facts.tier == "fibers" ? "fibers: each thread has a stack of its own"
                                                : "loops over threads";
    text += join(", optimised at O", facts.level, ", ");
    text += facts.vector_bits == 0 ? std::string("no vectors")
                                   : join("vectors of up to ", facts.vector_bits, " bits");
    if (!facts.reason.empty())
        text += join("; no more because ", facts.reason);
    return text;
}

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
