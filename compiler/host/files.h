// The files that Clang sees: all in memory, except what the user's own -I folders and a CUDA
// toolkit hold.
#pragma once
#include <llvm/Support/VirtualFileSystem.h>
#include <string>
#include <string_view>

namespace quern::host {

using MemoryFiles = llvm::IntrusiveRefCntPtr<llvm::vfs::InMemoryFileSystem>;

// `text` stays the caller's; add_text keeps a copy.
void add_file(llvm::vfs::InMemoryFileSystem& files, const llvm::Twine& path, std::string_view text);
void add_text(llvm::vfs::InMemoryFileSystem& files, const llvm::Twine& path, std::string_view text);
MemoryFiles make_files(); // our headers, and the names that CUDA programs include

// The same names in a folder of the CUDA toolkit are ours too: its headers find them by quotes.
void cover_folder(llvm::vfs::InMemoryFileSystem& files, const std::string& folder);

} // namespace quern::host
