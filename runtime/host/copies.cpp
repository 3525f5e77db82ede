// cuMemcpy*, cuMemset*: one copy and one fill, large ones shared with the team. Rows and planes:
// box_copies.cpp.
#include "runtime/host/state.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <immintrin.h>

namespace quern::host {
namespace {

constexpr std::size_t large_bytes = std::size_t{4} << 20, chunk_bytes = std::size_t{1} << 20;

std::byte* at(CUdeviceptr address) { return reinterpret_cast<std::byte*>(address); }
CUdeviceptr address_of(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// The last elements first, in vectors that fill lines of the target; returns how many bytes are
// left.
[[gnu::target("avx")]] std::size_t copy_lines(std::byte* to, const std::byte* from,
                                              std::size_t bytes) {
    constexpr std::size_t line = 64, vector = 32, vectors = 8;
    const std::size_t ragged = reinterpret_cast<std::uintptr_t>(to + bytes) % line;
    if (bytes < ragged + vector * vectors)
        return bytes;
    std::memcpy(to + bytes - ragged, from + bytes - ragged, ragged);
    for (bytes -= ragged; bytes >= vector * vectors; bytes -= vector * vectors) {
        __m256i held[vectors];
        for (std::size_t k = 0; k < vectors; ++k)
            held[k] = _mm256_loadu_si256(
                reinterpret_cast<const __m256i*>(from + bytes - (k + 1) * vector));
        for (std::size_t k = 0; k < vectors; ++k)
            _mm256_store_si256(reinterpret_cast<__m256i*>(to + bytes - (k + 1) * vector), held[k]);
    }
    return bytes;
}

// Where the target begins a little behind the source, as far as 4 KiB tell, the string moves of the
// C library and of compilers take up to 14 times as long on AMD's cores, and loads wait for stores
// that seem to be theirs. There it goes from the end, by lines, which takes half as long again on
// Intel's, where nothing waits.
void copy_apart(std::byte* to, const std::byte* from, std::size_t bytes) {
    constexpr std::size_t page = 4096, near = 64, line = 64;
    const std::size_t behind =
        (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % page;
    if (behind > 0 && behind < near && __builtin_cpu_is("amd")) {
        if (__builtin_cpu_supports("avx"))
            bytes = copy_lines(to, from, bytes);
        std::array<std::byte, line> held;
        for (; bytes >= line; bytes -= line) {
            std::memcpy(held.data(), from + bytes - line, line);
            std::memcpy(to + bytes - line, held.data(), line);
        }
    }
    std::memcpy(to, from, bytes);
}

void copy_now(std::byte* to, const std::byte* from, std::size_t bytes) {
    const bool apart = to + bytes <= from || from + bytes <= to;
    if (bytes == 0)
        return;
    if (!apart) {
        std::memmove(to, from, bytes);
        return;
    }
    if (bytes < large_bytes) {
        copy_apart(to, from, bytes);
        return;
    }
    state().team.run(0, bytes, chunk_bytes, [&](std::uint64_t first, std::uint64_t last) {
        copy_apart(to + first, from + first, last - first);
    });
}

template <class T> void fill_now(T* to, T value, std::size_t count) {
    auto part = [&](std::uint64_t first, std::uint64_t last) {
        std::fill(to + first, to + last, value);
    };
    if (count * sizeof(T) < large_bytes)
        return part(0, count);
    state().team.run(0, count, chunk_bytes / sizeof(T), part);
}

enum class Wait : bool { no, yes };

CUresult finish(Stream& stream, Wait wait) { // synchronous forms: done when they return
    return wait == Wait::no || state().streams.idle(stream) ? CUDA_SUCCESS
                                                            : state().streams.synchronize(stream);
}

CUresult copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream handle, Wait wait,
              bool from_host = false, bool to_host = false) noexcept {
    return guarded([&] {
        QUERN_CHECK(check_context());
        Streams& streams = state().streams;
        Stream* stream = streams.find(handle);
        if (stream == nullptr)
            return CUDA_ERROR_INVALID_HANDLE;
        if (wait == Wait::yes)
            QUERN_CHECK(streams.check_unsafe_call());
        const Memory& memory = state().memory;
        if (!memory.may_access(to, bytes) || !memory.may_access(from, bytes))
            return CUDA_ERROR_INVALID_VALUE;
        const auto pageable = [&](CUdeviceptr address) {
            const auto block = memory.find(address);
            return !block || !block->pinned();
        };
        QUERN_CHECK(streams.submit(
            *stream, CU_GRAPH_NODE_TYPE_MEMCPY, [&] { copy_now(at(to), at(from), bytes); },
            [&](bool capturing) -> Work {
                if (from_host && !capturing &&
                    pageable(from)) { // the caller may reuse its memory when this returns
                    auto staged =
                        std::make_shared<std::vector<std::byte>>(at(from), at(from) + bytes);
                    return [=] { copy_now(at(to), staged->data(), bytes); };
                }
                return [=] { copy_now(at(to), at(from), bytes); };
            }));
        if (to_host && !stream->capture && !streams.idle(*stream) && pageable(to))
            wait = Wait::yes;
        return finish(*stream, wait);
    });
}

template <class T>
CUresult fill(CUdeviceptr to, T value, std::size_t count, CUstream handle) noexcept {
    return guarded([&] {
        QUERN_CHECK(check_context());
        Stream* stream = state().streams.find(handle);
        if (stream == nullptr)
            return CUDA_ERROR_INVALID_HANDLE;
        if (to % alignof(T) != 0 || count > ~std::size_t{0} / sizeof(T))
            return CUDA_ERROR_INVALID_VALUE;
        if (!state().memory.may_access(to, count * sizeof(T)))
            return CUDA_ERROR_INVALID_VALUE;
        const auto work = [=] { fill_now(reinterpret_cast<T*>(to), value, count); };
        return state().streams.submit(*stream, CU_GRAPH_NODE_TYPE_MEMSET, work,
                                      [&](bool) -> Work { return work; });
    });
}

} // namespace

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t n) {
    return copy(to, from, n, nullptr, Wait::yes);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t n, CUstream s) {
    const auto is_foreign = [](CUdeviceptr address) { return !state().memory.find(address); };
    if (state().streams.find(s) == nullptr || state().streams.idle(*state().streams.find(s)))
        return copy(to, from, n, s, Wait::no);
    return copy(to, from, n, s, Wait::no, is_foreign(from), is_foreign(to));
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t n) {
    return copy(to, address_of(from), n, nullptr, Wait::yes);
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t n, CUstream s) {
    return copy(to, address_of(from), n, s, Wait::no, true);
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t n) {
    return copy(address_of(to), from, n, nullptr, Wait::yes);
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t n, CUstream s) {
    return copy(address_of(to), from, n, s, Wait::no, false, true);
}
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, std::size_t n) {
    return copy(to, from, n, nullptr, Wait::no);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t n, CUstream s) {
    return copy(to, from, n, s, Wait::no);
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, std::size_t n) {
    return host::cuMemcpyPeerAsync(to, to_context, from, from_context, n, nullptr);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, std::size_t n, CUstream s) {
    const auto* ours = reinterpret_cast<CUcontext>(&state().context);
    if (to_context != ours || from_context != ours)
        return CUDA_ERROR_INVALID_CONTEXT;
    return copy(to, from, n, s, Wait::no);
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char v, std::size_t n) {
    return fill(to, v, n, nullptr);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char v, std::size_t n, CUstream s) {
    return fill(to, v, n, s);
}
CUresult cuMemsetD16(CUdeviceptr to, unsigned short v, std::size_t n) {
    return fill(to, v, n, nullptr);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short v, std::size_t n, CUstream s) {
    return fill(to, v, n, s);
}
CUresult cuMemsetD32(CUdeviceptr to, unsigned v, std::size_t n) { return fill(to, v, n, nullptr); }
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned v, std::size_t n, CUstream s) {
    return fill(to, v, n, s);
}

} // namespace quern::host
