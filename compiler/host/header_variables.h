// Variables of the toolkit's headers that a program does not use.
#pragma once

namespace clang {
class ASTContext;
}

namespace quern::host {

// Every function is the host's too here, so Clang takes each device variable that any of them reads
// for one that host code asks for, and emits it: curand's tables alone take 40 ms. Those of system
// headers are emitted when a kernel reaches them.
void emit_header_variables_on_use(clang::ASTContext& ast);

} // namespace quern::host
