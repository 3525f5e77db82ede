// A small loader for what the host compiler makes: an ELF x86-64 relocatable object becomes code
// and data in this process. Everything in the image is checked before use: a corrupt object is
// refused, never followed.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace quern::host {

struct LoadProblem {
    CUresult status = CUDA_ERROR_INVALID_IMAGE;
    std::string text; // for the JIT error log
};

class LoadedObject {
  public:
    struct Symbol {
        std::byte* address;
        std::size_t bytes;
        bool is_function;
    };

    // Maps, relocates, protects (no page is both writable and executable). On failure nullptr and
    // `problem` is filled.
    // Variables that `shared` has under the same name and of the same size are its: none of their
    // own.
    [[nodiscard]] static std::unique_ptr<LoadedObject> load(std::span<const std::byte> image,
                                                            LoadProblem& problem,
                                                            const LoadedObject* shared = nullptr);
    ~LoadedObject();
    LoadedObject(const LoadedObject&) = delete;
    LoadedObject& operator=(const LoadedObject&) = delete;

    [[nodiscard]] const Symbol* find(const std::string& name) const;
    [[nodiscard]] const std::unordered_map<std::string, Symbol>& symbols() const noexcept {
        return symbols_;
    }
    [[nodiscard]] bool can_trap() const noexcept {
        return can_trap_;
    } // it calls a hook that leaves the kernel

  private:
    friend class ObjectReader;
    LoadedObject() = default;
    std::byte* base_ = nullptr;
    std::size_t bytes_ = 0;
    std::unordered_map<std::string, Symbol> symbols_;
    bool can_trap_ = false;
};

// The image that starts at `start`: cuModuleLoadData is not told its length, so the ELF header is
// asked. Unreadable memory and headers that make no sense give nullopt.
[[nodiscard]] std::optional<std::vector<std::byte>> copy_image(const void* start);

} // namespace quern::host
