// Tells two builds of a shared library apart by reading two small pieces of its file; the library
// is not opened.
#include "compiler/base/library.h"
#include "compiler/base/text.h"

#include <cstddef>
#include <cstring>
#include <fstream>
#include <vector>

#include <elf.h>
#include <sys/stat.h>

namespace quern {
namespace {

template <class T>
bool read_at(std::ifstream& file, std::size_t offset, T* into, std::size_t count) {
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(reinterpret_cast<char*>(into), static_cast<std::streamsize>(count * sizeof(T)));
    return file.good();
}

std::string find_build_id(std::ifstream& file) {
    Elf64_Ehdr head;
    if (!read_at(file, 0, &head, 1) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return {};
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr) ||
        head.e_phnum > 64)
        return {};
    std::vector<Elf64_Phdr> segments(head.e_phnum);
    if (!read_at(file, head.e_phoff, segments.data(), segments.size()))
        return {};
    for (const Elf64_Phdr& segment : segments) {
        if (segment.p_type != PT_NOTE || segment.p_filesz > 4096)
            continue;
        std::vector<unsigned char> notes(segment.p_filesz);
        if (!read_at(file, segment.p_offset, notes.data(), notes.size()))
            return {};
        const std::size_t step = segment.p_align == 8 ? 8 : 4;
        for (std::size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
            Elf64_Nhdr note;
            std::memcpy(&note, notes.data() + at, sizeof note);
            const std::size_t name = at + sizeof note;
            const std::size_t value = (name + note.n_namesz + step - 1) / step * step;
            if (value + note.n_descsz > notes.size())
                break;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
                std::memcmp(&notes[name], "GNU", 4) == 0) {
                std::string digits;
                for (std::size_t k = 0; k < note.n_descsz; ++k)
                    digits += fmt::format("{:02x}", notes[value + k]);
                return digits;
            }
            at = (value + note.n_descsz + step - 1) / step * step;
        }
    }
    return {};
}

} // namespace

std::string library_build_id(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return {};
    if (std::string id = find_build_id(file); !id.empty())
        return id;
    struct stat about {};
    if (stat(path.c_str(), &about) != 0)
        return {};
    return join(about.st_size, "-", about.st_mtim.tv_sec, ".", about.st_mtim.tv_nsec);
}

} // namespace quern
