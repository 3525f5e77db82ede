// The one hierarchy of errors. Each says the deed, the values and the cure; Python maps each kind
// once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace quern {

// What a Python user would catch. `bind_error.cpp` maps each kind to one exception type.
enum class ErrorKind : std::uint8_t {
    value,           // ValueError
    type,            // TypeError
    index,           // IndexError
    overflow,        // OverflowError
    not_implemented, // NotImplementedError
    runtime,         // RuntimeError
    io,              // OSError
    spec,            // SpecError (ValueError)
    resolve,         // ResolveError (TypeError)
    undecided,       // UndecidedTypeError (ResolveError and KeyError)
    compile,         // CompileError (RuntimeError)
    driver,          // DriverError (RuntimeError)
    memory,          // OutOfMemoryError (MemoryError)
};

class Error : public std::runtime_error {
  public:
    Error(ErrorKind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
    [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

  private:
    ErrorKind kind_;
};

// One type per kind that C++ callers distinguish; the rest are thrown as `Error{ErrorKind::...}`.
template <ErrorKind Kind> class ErrorOf : public Error {
  public:
    explicit ErrorOf(const std::string& text) : Error(Kind, text) {}
};
using ValueError = ErrorOf<ErrorKind::value>;
using TypeError = ErrorOf<ErrorKind::type>;
using SpecError = ErrorOf<ErrorKind::spec>;
using ResolveError = ErrorOf<ErrorKind::resolve>;
using UndecidedTypeError = ErrorOf<ErrorKind::undecided>;

// A toolchain refused the source. `what()` shows the user's own lines, numbered, with a caret.
class CompileError : public Error {
  public:
    CompileError(const std::string& text, std::string name, std::string source, std::string log)
        : Error(ErrorKind::compile, text), name_(std::move(name)), source_(std::move(source)),
          log_(std::move(log)) {}
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] const std::string& source() const noexcept { return source_; }
    [[nodiscard]] const std::string& log() const noexcept { return log_; }

  private:
    std::string name_, source_, log_;
};

// The driver answered with anything but CUDA_SUCCESS.
class DriverError : public Error {
  public:
    DriverError(const std::string& text, int code, std::string name)
        : Error(ErrorKind::driver, text), code_(code), name_(std::move(name)) {}
    [[nodiscard]] int code() const noexcept { return code_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

  private:
    int code_;
    std::string name_;
};

// The pool gave back what it could, tried again, and still got nothing. All figures are bytes.
class OutOfMemoryError : public Error {
  public:
    struct Figures {
        std::size_t requested_bytes, used_bytes, pool_bytes, limit_bytes;
    };
    OutOfMemoryError(const std::string& text, Figures figures)
        : Error(ErrorKind::memory, text), figures_(figures) {}
    [[nodiscard]] const Figures& figures() const noexcept { return figures_; }

  private:
    Figures figures_;
};

} // namespace quern
