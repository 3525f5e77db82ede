// Opens libquern_cc, compiles a source, links the object into a shared library with ld, opens it
// and launches kernels.
#pragma once
#include "compiler/base/host_abi.h"
#include "compiler/host/quern_cc.h"
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace quern::test {

struct Compiled {
    quern_cc_status status = QUERN_CC_ERROR;
    std::string log, object, facts;
    std::vector<std::string> names;
};

struct Source {
    std::string text;
    std::vector<std::string> options = {};
    std::vector<std::string> names = {};
    std::vector<std::pair<std::string, std::string>> headers = {};
    std::string arch = "";
    bool toolkit = false; // may include headers of a CUDA toolkit
};

Compiled compile(const Source& source);
std::string this_cpu(); // the highest x86-64 level of this machine, and wide vectors

struct Dim {
    std::uint32_t x = 1, y = 1, z = 1;
};

// A loaded program. Throws std::runtime_error with the log when the source does not compile.
class Program {
  public:
    explicit Program(const Source& source);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    template <class... Args>
    void launch(const std::string& kernel, Dim grid, Dim block, const Args&... args) const {
        std::vector<char> buffer;
        (pack(buffer, args), ...);
        run(kernel, grid, block, buffer, 0);
    }
    template <class... Args> void launch_shared(const std::string& kernel, Dim grid, Dim block,
                                                std::uint32_t bytes, const Args&... args) const {
        std::vector<char> buffer;
        (pack(buffer, args), ...);
        run(kernel, grid, block, buffer, bytes);
    }
    const HostKernelInfo& info(const std::string& kernel) const;
    void* symbol(const std::string& name) const;
    const std::vector<std::string>& names() const { return names_; }

  private:
    template <class T> static void pack(std::vector<char>& buffer, const T& value) {
        const auto at = (buffer.size() + alignof(T) - 1) / alignof(T) * alignof(T);
        buffer.resize(at + sizeof(T));
        std::memcpy(buffer.data() + at, &value, sizeof(T));
    }
    void run(const std::string& kernel, Dim grid, Dim block, const std::vector<char>& args,
             std::uint32_t shared_bytes) const;

    void* library_ = nullptr;
    std::vector<std::string> names_;
};

extern int asserts, traps; // counted by the hooks
extern std::string last_assert;

} // namespace quern::test
