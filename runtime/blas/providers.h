// The two libraries behind gemm.h. Private to this room.
#pragma once
#include "runtime/blas/gemm.h"

#include <span>

namespace quern {

// The batch's products one after the other: where each operand of the next one starts.
class GemmWalk {
  public:
    GemmWalk(const std::vector<GemmBatch>& batch, std::size_t axes)
        : batch_(batch.data(), axes), place_(axes, 0) {}
    [[nodiscard]] bool done() const noexcept { return done_; }
    [[nodiscard]] std::int64_t a() const noexcept { return a_; }
    [[nodiscard]] std::int64_t b() const noexcept { return b_; }
    [[nodiscard]] std::int64_t c() const noexcept { return c_; }
    void next() noexcept {
        for (std::size_t k = batch_.size(); k-- > 0;) { // as an odometer
            const GemmBatch& step = batch_[k];
            const std::int64_t by = ++place_[k] < step.extent ? 1 : 1 - step.extent;
            a_ += by * step.a, b_ += by * step.b, c_ += by * step.c;
            if (by == 1)
                return;
            place_[k] = 0;
        }
        done_ = true;
    }

  private:
    std::span<const GemmBatch> batch_;
    std::vector<std::int64_t> place_;
    std::int64_t a_ = 0, b_ = 0, c_ = 0;
    bool done_ = false;
};

} // namespace quern

namespace quern::cublas {
[[nodiscard]] bool has(DType dtype);
[[nodiscard]] const std::string& path();
void gemm(Device& device, CUstream stream, const Gemm& product);
} // namespace quern::cublas

namespace quern::cblas {
[[nodiscard]] bool has(DType dtype);
[[nodiscard]] const std::string& path();
void gemm(Device& device, CUstream stream, const Gemm& product);
} // namespace quern::cblas
