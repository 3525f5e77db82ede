// Each thread stores a byte into page-locked memory beside a turn's number, which the host watches:
// both in one word, so that nothing need be waited for between them. A GPU's copy engines take 10
// or 17 microseconds for as much, by process and stream; this takes fewer than 10 in all of them.
#include "runtime/memory/small_read.h"

#include "compiler/base/text.h"
#include "runtime/driver/call_counts.h"
#include "runtime/driver/check.h"
#include "runtime/memory/pool_state.h"

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

namespace quern {
namespace {

// PTX, so that no compiler is asked for it. The fence is for what kernels before it stored where
// the host looks next.
constexpr const char* kernel_text = R"(
.version 6.0
.target sm_70
.address_size 64
.visible .entry quern_read_small(.param .u64 from, .param .u64 to, .param .u32 bytes, .param .u32 turn)
{
    .reg .pred %past;
    .reg .b32 %thread, %count, %byte, %mark;
    .reg .b64 %source, %target, %offset, %both;
    ld.param.u64 %source, [from];
    ld.param.u64 %target, [to];
    ld.param.u32 %count, [bytes];
    ld.param.u32 %mark, [turn];
    mov.u32 %thread, %tid.x;
    setp.ge.u32 %past, %thread, %count;
    @%past ret;
    cvt.u64.u32 %offset, %thread;
    add.u64 %source, %source, %offset;
    ld.u8 %byte, [%source];
    fence.acq_rel.sys;
    mov.b64 %both, {%byte, %mark};
    shl.b64 %offset, %offset, 3;
    add.u64 %target, %target, %offset;
    st.relaxed.sys.u64 [%target], %both;
    ret;
}
)";

// The driver takes milliseconds for the text, which a script that reads a few numbers has not got.
constexpr int reads_before_kernel = 8;
// Longer work is waited for in the driver, which also tells what went wrong with it.
constexpr std::chrono::microseconds watched{100};

// For each byte a word: the byte, and the turn's number in the upper half.
using Landing = std::array<std::uint64_t, small_read_bytes>;

class Reader {
  public:
    // One for each device, kept until the process ends: kernels may still write.
    static Reader& of(Device& device) {
        static std::array<std::atomic<Reader*>, max_devices> table{};
        std::atomic<Reader*>& entry = table[static_cast<std::size_t>(device.index())];
        Reader* found = entry.load(std::memory_order_acquire);
        if (found == nullptr) {
            auto* made = new Reader;
            if (entry.compare_exchange_strong(found, made))
                return *made;
            delete made;
        }
        return *found;
    }

    bool read(Device& device, void* destination, std::uint64_t from, std::size_t bytes,
              CUstream stream) {
        Turn turn;
        if (!begin(device, turn))
            return false;
        const DriverApi& api = device.api();
        auto to = reinterpret_cast<std::uint64_t>(turn.landing);
        auto count = static_cast<std::uint32_t>(bytes);
        std::array<void*, 4> arguments{&from, &to, &count, &turn.number};
        const CUresult launched = api.cuLaunchKernel(kernel_, 1, 1, 1, small_read_bytes, 1, 1, 0,
                                                     stream, arguments.data(), nullptr);
        forget_launch();
        if (launched != CUDA_SUCCESS) {
            end(turn);
            check(api, launched, "read ", format_bytes(bytes), " from ", device.name());
        }
        // After an error the landing stays taken, since the kernel may still write there.
        if (arrives(turn, bytes))
            count_wait();
        else
            check(api, api.cuStreamSynchronize(stream), "wait for ", format_bytes(bytes), " from ",
                  device.name());
        for (std::size_t k = 0; k < bytes; ++k)
            static_cast<unsigned char*>(destination)[k] =
                static_cast<unsigned char>((*turn.landing)[k]);
        end(turn);
        return true;
    }

  private:
    struct Turn {
        Landing* landing = nullptr;
        std::uint32_t number = 0;
    };

    bool begin(Device& device, Turn& turn) {
        const std::lock_guard lock(mutex_);
        if (!usable_)
            return false;
        if (kernel_ == nullptr && (++reads_ < reads_before_kernel || !load(device)))
            return false;
        if (free_.empty() && !add_landings(device))
            return false;
        turn = {free_.back(), ++turns_};
        free_.pop_back();
        return true;
    }

    void end(const Turn& turn) {
        const std::lock_guard lock(mutex_);
        free_.push_back(turn.landing);
    }

    static bool arrives(const Turn& turn, std::size_t bytes) {
        const auto until = std::chrono::steady_clock::now() + watched;
        for (std::size_t k = 0; k < bytes; ++k)
            while (std::atomic_ref((*turn.landing)[k]).load(std::memory_order_acquire) >> 32 !=
                   turn.number) {
                if (std::chrono::steady_clock::now() >= until)
                    return false;
                __builtin_ia32_pause();
            }
        return true;
    }

    bool load(Device& device) {
        const RelaxedCapture relaxed(device.api());
        CUmodule module = nullptr;
        usable_ =
            device.api().cuModuleLoadData(&module, kernel_text) == CUDA_SUCCESS &&
            device.api().cuModuleGetFunction(&kernel_, module, "quern_read_small") == CUDA_SUCCESS;
        return usable_;
    }

    bool add_landings(Device& device) {
        const RelaxedCapture relaxed(device.api());
        void* memory = nullptr;
        constexpr std::size_t count = 32;
        constexpr unsigned flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
        if (device.api().cuMemHostAlloc(&memory, count * sizeof(Landing), flags) != CUDA_SUCCESS)
            return false;
        auto* landings = static_cast<Landing*>(memory);
        for (std::size_t k = 0; k < count; ++k) {
            landings[k].fill(0);
            free_.push_back(&landings[k]);
        }
        return true;
    }

    std::mutex mutex_; // guards the rest; kernel_ is only read once it is there
    CUfunction kernel_ = nullptr;
    bool usable_ = true; // false once the driver has refused the kernel
    int reads_ = 0;
    std::uint32_t turns_ = 0;
    std::vector<Landing*> free_;
};

} // namespace

bool read_small(Device& device, void* destination, std::uint64_t from, std::size_t bytes,
                CUstream stream) {
    return Reader::of(device).read(device, destination, from, bytes, stream);
}

} // namespace quern
