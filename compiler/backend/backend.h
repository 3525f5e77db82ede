// Source text and an Arch become a Binary, or diagnostics. The project's one virtual interface.
#pragma once
#include "compiler/base/arch.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace quern {

struct SourceFile {
    std::string name; // as an #include directive names it
    std::string text;
};

// Where a toolchain keeps what one compilation leaves to later ones, of other processes too: bytes
// under a text that names all they depend on. Any thread may ask, until the process ends.
struct KeptParts {
    std::function<std::vector<std::byte>(const std::string& key)> find; // empty: nothing kept
    std::function<void(const std::string& key, std::vector<std::byte> bytes)> keep;
};

struct CompileRequest {
    std::string name;                          // of the kernel or module; a label in messages
    std::string source;                        // complete text of the main file
    std::vector<SourceFile> headers;           // prelude pieces and others, found before any folder
    std::vector<std::string> options;          // in the user's order
    std::vector<std::string> name_expressions; // C++ names to be lowered
    Arch arch;
    const KeptParts* parts = nullptr; // null: nothing is kept
};

struct Binary {
    std::vector<std::byte> image; // cubin, or x86-64 relocatable object
    std::vector<std::pair<std::string, std::string>> lowered_names;
    std::string log;   // warnings
    std::string facts; // of each kernel, see compiler/base/kernel_facts.h; "" from GPU toolchains
    double toolchain_ms = 0; // what it took, also where it was long ago
};

class Backend {
  public:
    virtual ~Backend() = default;
    // Name, version and whatever else of the toolchain can change a binary: "nvrtc 13.0",
    // "clang 19.1.7 (quern cc 1)".
    [[nodiscard]] virtual std::string identity() const = 0;
    // Throws CompileError (what(): the raw log; callers that know the user's lines say it better)
    // or Error.
    [[nodiscard]] virtual Binary compile(const CompileRequest& request) const = 0;
    // Why this option, one word as given, is accepted and changes nothing; "" when it does
    // something.
    [[nodiscard]] virtual std::string why_ignored(const std::string& option) const;
};

inline std::string Backend::why_ignored(const std::string& /*option*/) const { return {}; }

// Both are made on first use and live as long as the process; the library behind them is opened by
// the first call of a member. Throws Error with remedies when the library cannot be had.
[[nodiscard]] const Backend& nvrtc_backend();
[[nodiscard]] const Backend& host_backend();
[[nodiscard]] const Backend& backend_for(Target target);

} // namespace quern
