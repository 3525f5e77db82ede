// What NVRTC takes, at most with a warning, and Clang would refuse.
#pragma once
#include <clang/AST/DeclGroup.h>
#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/SourceManager.h>
#include <string>
#include <vector>

namespace quern::host {

void add_tolerant_words(std::vector<std::string>& words); // arguments for Clang
// For headers of ours alone. Templates that are parsed when they are wanted are all read back from
// an image as soon as one of them is: half of what it took to read a small kernel.
void parse_whole_templates(std::vector<std::string>& words);
void tolerate(clang::DiagnosticsEngine& diagnostics); // errors that are none

// -default-device: a variable of a namespace that says nothing of its place lies on the device.
void place_variables(clang::ASTContext& ast, clang::DeclGroupRef group);

// A name of our headers that the program gives its own meaning, as NVRTC lets it.
struct TakenName {
    std::string name;
    bool function = false;
};

// Collects them from the complaints about redefinitions.
class TakenNames {
  public:
    void see(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info);
    [[nodiscard]] const std::vector<TakenName>& names() const { return names_; }

  private:
    TakenName last_; // of the error whose notes follow
    std::vector<TakenName> names_;
};

// Source text after which the program's meaning goes first: its name becomes another one, and calls
// that its own functions do not fit go on to ours.
std::string give_way(const std::vector<TakenName>& names);

} // namespace quern::host
