// Reading, laying out and relocating an object. Offsets are checked where they are read; sums are
// made in 64 bits from fields already known to be small, so they cannot wrap.
#include "runtime/host/object_loader.h"

#include "compiler/base/text.h"
#include "runtime/host/hooks.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>

#include <elf.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace quern::host {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t largest_image = std::uint64_t{1}
                                        << 30; // also keeps every PC-relative offset in 31 bits
constexpr std::uint64_t stub_bytes = 16, got_bytes = 8;

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

template <class T>
T read_at(std::span<const std::byte> image, std::uint64_t offset) { // the caller checked the range
    T value;
    std::memcpy(&value, image.data() + offset, sizeof value);
    return value;
}
bool fits(std::uint64_t offset, std::uint64_t bytes, std::uint64_t whole) {
    return offset <= whole && bytes <= whole - offset;
}

bool read_memory(const std::byte* from, void* to, std::size_t bytes) { // false instead of a fault
    const iovec local{to, bytes};
    const iovec remote{const_cast<std::byte*>(from), bytes};
    const long got = syscall(SYS_process_vm_readv, getpid(), &local, 1L, &remote, 1L, 0L);
    if (got >= 0)
        return static_cast<std::size_t>(got) == bytes;
    if (errno != ENOSYS && errno != EPERM)
        return false;
    std::memcpy(to, from, bytes); // a sandbox without this call: trust the caller
    return true;
}

bool is_elf_object(const Elf64_Ehdr& header) {
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
           header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
           header.e_type == ET_REL && header.e_shnum != 0 &&
           header.e_shentsize == sizeof(Elf64_Shdr) && header.e_shoff < largest_image;
}

} // namespace

std::optional<std::vector<std::byte>> copy_image(const void* start) {
    const auto* from = static_cast<const std::byte*>(start);
    Elf64_Ehdr header;
    if (!read_memory(from, &header, sizeof header) || !is_elf_object(header))
        return std::nullopt;
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    std::uint64_t bytes = header.e_shoff + sections.size() * sizeof(Elf64_Shdr);
    if (!read_memory(from + header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr)))
        return std::nullopt;
    for (const Elf64_Shdr& section : sections) {
        if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL)
            continue;
        if (!fits(section.sh_offset, section.sh_size, largest_image))
            return std::nullopt;
        bytes = std::max<std::uint64_t>(bytes, section.sh_offset + section.sh_size);
    }
    std::vector<std::byte> image(bytes);
    if (!read_memory(from, image.data(), bytes))
        return std::nullopt;
    return image;
}

// One load in progress. Throws LoadProblem; what was mapped by then is unmapped by the LoadedObject
// it fills.
class ObjectReader {
  public:
    ObjectReader(std::span<const std::byte> image, const LoadedObject* shared)
        : image_(image), shared_(shared) {}

    std::unique_ptr<LoadedObject> load() {
        read_sections();
        read_symbols();
        scan_relocations();
        lay_out();
        resolve();
        relocate();
        protect();
        export_symbols();
        return std::move(object_);
    }

  private:
    enum Part : std::size_t { code, constant, data, part_count };
    struct Section {
        Elf64_Shdr header{};
        std::string_view name;
        bool loaded = false;
        Part part = data;
        std::uint64_t offset = 0; // from the mapping's start
    };
    struct Symbol {
        Elf64_Sym raw{};
        std::string_view name;
        std::uint64_t address = 0;
        std::uint64_t got = none, stub = none; // offsets in the mapping, when wanted
        bool wanted = false, external = false;
    };
    static constexpr std::uint64_t none = ~std::uint64_t{0}, wish = none - 1;

    [[noreturn]] static void refuse(std::string text, CUresult status = CUDA_ERROR_INVALID_IMAGE) {
        throw LoadProblem{status, std::move(text)};
    }
    static void demand(bool holds, const char* what) {
        if (!holds)
            refuse(what);
    }

    std::string_view text_at(const Section& strings, std::uint64_t offset) const {
        demand(offset < strings.header.sh_size, "a name lies outside its string table");
        const char* first =
            reinterpret_cast<const char*>(image_.data() + strings.header.sh_offset + offset);
        const std::size_t room = strings.header.sh_size - offset;
        const std::size_t length = strnlen(first, room);
        demand(length < room, "a name in the string table does not end");
        return {first, length};
    }

    const Section& strings_of(std::uint32_t index) const {
        demand(index < sections_.size() && sections_[index].header.sh_type == SHT_STRTAB,
               "no string table");
        return sections_[index];
    }

    void read_sections() {
        demand(image_.size() >= sizeof(Elf64_Ehdr), "the image is too short for an ELF header");
        const auto header = read_at<Elf64_Ehdr>(image_, 0);
        demand(is_elf_object(header), "the image is not an ELF relocatable object");
        if (header.e_machine != EM_X86_64)
            refuse("the object is not for x86-64", CUDA_ERROR_NO_BINARY_FOR_GPU);
        demand(
            fits(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr), image_.size()),
            "the section table lies outside the image");
        sections_.resize(header.e_shnum);
        std::uint64_t total = 0;
        for (std::size_t i = 0; i < sections_.size(); ++i) {
            Elf64_Shdr& h = sections_[i].header =
                read_at<Elf64_Shdr>(image_, header.e_shoff + i * sizeof(Elf64_Shdr));
            if (h.sh_type == SHT_NULL)
                continue;
            demand(h.sh_type == SHT_NOBITS || fits(h.sh_offset, h.sh_size, image_.size()),
                   "a section lies outside the image");
            demand(h.sh_size <= largest_image && (total += h.sh_size) <= largest_image,
                   "the object is too large");
        }
        for (Section& section : sections_) {
            const Elf64_Shdr& h = section.header;
            if (h.sh_type == SHT_NULL)
                continue;
            section.name = text_at(strings_of(header.e_shstrndx), h.sh_name);
            if (!(h.sh_flags & SHF_ALLOC) || section.name == ".eh_frame" || h.sh_type == SHT_NOTE)
                continue;
            demand(!(h.sh_flags & SHF_TLS), "thread-local variables are not supported");
            demand(h.sh_type != SHT_INIT_ARRAY && h.sh_type != SHT_FINI_ARRAY &&
                       h.sh_type != SHT_PREINIT_ARRAY && !section.name.starts_with(".ctors"),
                   "constructors of global variables are not supported");
            demand(h.sh_type == SHT_PROGBITS || h.sh_type == SHT_NOBITS,
                   "a loaded section has an unknown type");
            demand((h.sh_addralign & (h.sh_addralign - 1)) == 0 && h.sh_addralign <= page,
                   "the alignment of a section is not a small power of two");
            demand(!((h.sh_flags & SHF_EXECINSTR) &&
                     ((h.sh_flags & SHF_WRITE) || h.sh_type == SHT_NOBITS)),
                   "a section wants to be code and writable");
            section.loaded = true;
            section.part = h.sh_flags & SHF_EXECINSTR ? code
                           : h.sh_flags & SHF_WRITE   ? data
                                                      : constant;
        }
    }

    void read_symbols() {
        const Section* table = nullptr;
        for (const Section& section : sections_) {
            if (section.header.sh_type != SHT_SYMTAB)
                continue;
            demand(table == nullptr, "two symbol tables");
            table = &section;
        }
        demand(table != nullptr, "no symbol table");
        demand(table->header.sh_entsize == sizeof(Elf64_Sym), "a symbol table of unknown shape");
        const Section& strings = strings_of(table->header.sh_link);
        symbols_.resize(table->header.sh_size / sizeof(Elf64_Sym));
        for (std::size_t i = 0; i < symbols_.size(); ++i) {
            Symbol& symbol = symbols_[i];
            symbol.raw =
                read_at<Elf64_Sym>(image_, table->header.sh_offset + i * sizeof(Elf64_Sym));
            if (symbol.raw.st_name != 0)
                symbol.name = text_at(strings, symbol.raw.st_name);
            const unsigned type = ELF64_ST_TYPE(symbol.raw.st_info), section = symbol.raw.st_shndx;
            demand(type != STT_GNU_IFUNC, "indirect functions are not supported");
            if (section == SHN_COMMON) {
                const std::uint64_t align = symbol.raw.st_value;
                demand(align != 0 && (align & (align - 1)) == 0 && align <= page,
                       "a common symbol's alignment is wrong");
                demand(symbol.raw.st_size <= largest_image &&
                           (common_bytes_ += symbol.raw.st_size) <= largest_image,
                       "the object is too large");
            } else if (section != SHN_UNDEF && section != SHN_ABS) {
                demand(section < sections_.size(), "a symbol names a section that does not exist");
                demand(fits(symbol.raw.st_value, symbol.raw.st_size,
                            sections_[section].header.sh_size) ||
                           !sections_[section].loaded,
                       "a symbol lies outside its section");
            }
            symbol.external = section == SHN_UNDEF && i != 0;
        }
    }

    template <class Visit> void for_each_relocation(Visit visit) {
        for (const Section& table : sections_) {
            if (table.header.sh_type == SHT_REL)
                refuse("relocations without addends");
            if (table.header.sh_type != SHT_RELA)
                continue;
            demand(table.header.sh_info < sections_.size() &&
                       table.header.sh_entsize == sizeof(Elf64_Rela),
                   "a relocation table of unknown shape");
            const Section& target = sections_[table.header.sh_info];
            if (!target.loaded)
                continue;
            demand(target.header.sh_type != SHT_NOBITS,
                   "relocations in a section without contents");
            for (std::uint64_t i = 0; i < table.header.sh_size / sizeof(Elf64_Rela); ++i)
                visit(target,
                      read_at<Elf64_Rela>(image_, table.header.sh_offset + i * sizeof(Elf64_Rela)));
        }
    }

    static bool through_got(std::uint64_t type) {
        return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX ||
               type == R_X86_64_REX_GOTPCRELX;
    }

    void scan_relocations() { // what is asked of each symbol, before anything is placed
        for_each_relocation([&](const Section& target, const Elf64_Rela& entry) {
            const std::uint64_t type = ELF64_R_TYPE(entry.r_info),
                                index = ELF64_R_SYM(entry.r_info);
            if (type == R_X86_64_NONE)
                return;
            const bool wide = type == R_X86_64_64 || type == R_X86_64_PC64;
            if (!wide && !through_got(type) && type != R_X86_64_PC32 && type != R_X86_64_PLT32)
                refuse(join("relocation type ", type,
                            " is not supported: compile position-independent code"));
            demand(fits(entry.r_offset, wide ? 8 : 4, target.header.sh_size),
                   "a relocation lies outside its section");
            demand(index < symbols_.size(), "a relocation names a symbol that does not exist");
            Symbol& symbol = symbols_[index];
            symbol.wanted = true;
            if (symbol.raw.st_shndx < SHN_LORESERVE && !symbol.external && index != 0)
                demand(sections_[symbol.raw.st_shndx].loaded,
                       "a relocation refers to a section that is not loaded");
            if (through_got(type))
                symbol.got = wish;
            if (symbol.external && !wide && !through_got(type))
                symbol.stub = symbol.got = wish;
        });
    }

    void lay_out() {
        std::array<std::uint64_t, part_count> sizes{};
        const auto place = [&](Part part, std::uint64_t bytes, std::uint64_t align) {
            const std::uint64_t at = round_up(sizes[part], std::max<std::uint64_t>(align, 1));
            sizes[part] = at + bytes;
            return at;
        };
        for (Section& section : sections_)
            if (section.loaded)
                section.offset =
                    place(section.part, section.header.sh_size, section.header.sh_addralign);
        for (Symbol& symbol : symbols_) {
            if (symbol.stub == wish)
                symbol.stub = place(code, stub_bytes, stub_bytes);
            if (symbol.got == wish)
                symbol.got = place(constant, got_bytes, got_bytes);
            if (symbol.raw.st_shndx == SHN_COMMON)
                symbol.address = place(data, symbol.raw.st_size, symbol.raw.st_value);
        }
        std::uint64_t total = 0;
        for (std::size_t part = 0; part < part_count; ++part) {
            starts_[part] = total;
            total += round_up(sizes[part], page);
        }
        demand(total <= largest_image, "the object is too large");
        ends_ = {starts_[constant], starts_[data], total};
        object_.reset(new LoadedObject);
        total = std::max(total, page);
        void* base =
            mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base == MAP_FAILED)
            refuse("no memory for the object", CUDA_ERROR_OUT_OF_MEMORY);
        object_->base_ = static_cast<std::byte*>(base);
        object_->bytes_ = total;
        for (Section& section : sections_) {
            if (!section.loaded)
                continue;
            section.offset += starts_[section.part];
            if (section.header.sh_type != SHT_NOBITS && section.header.sh_size != 0)
                std::memcpy(object_->base_ + section.offset,
                            image_.data() + section.header.sh_offset, section.header.sh_size);
        }
    }

    [[nodiscard]] std::uint64_t address_of(std::uint64_t offset) const {
        return reinterpret_cast<std::uint64_t>(object_->base_) + offset;
    }
    template <class T> void write_at(std::uint64_t offset, T value) {
        std::memcpy(object_->base_ + offset, &value, sizeof value);
    }

    [[nodiscard]] const LoadedObject::Symbol* shared_variable(const Symbol& symbol) const {
        if (shared_ == nullptr || symbol.external || symbol.name.starts_with("__quern_") ||
            ELF64_ST_TYPE(symbol.raw.st_info) != STT_OBJECT ||
            ELF64_ST_BIND(symbol.raw.st_info) == STB_LOCAL)
            return nullptr;
        const auto* found = shared_->find(std::string(symbol.name));
        return found != nullptr && !found->is_function && found->bytes == symbol.raw.st_size
                   ? found
                   : nullptr;
    }

    void resolve() { // addresses, then the GOT and the stubs that jump through it
        for (Symbol& symbol : symbols_) {
            const unsigned section = symbol.raw.st_shndx;
            if (symbol.external) {
                if (!symbol.wanted)
                    continue;
                const ExternalSymbol found = find_external(std::string(symbol.name));
                if (found.address == nullptr && ELF64_ST_BIND(symbol.raw.st_info) != STB_WEAK)
                    refuse(join("undefined symbol ", symbol.name),
                           CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
                symbol.address = reinterpret_cast<std::uint64_t>(found.address);
                object_->can_trap_ |= found.can_trap;
            } else if (section == SHN_COMMON) {
                symbol.address = address_of(starts_[data] + symbol.address);
            } else if (section == SHN_ABS) {
                symbol.address = symbol.raw.st_value;
            } else if (section != SHN_UNDEF && sections_[section].loaded) {
                symbol.address = address_of(sections_[section].offset + symbol.raw.st_value);
            }
            if (const auto* same = shared_variable(symbol))
                symbol.address = reinterpret_cast<std::uint64_t>(same->address);
        }
        for (Symbol& symbol : symbols_) {
            if (symbol.got == none)
                continue;
            symbol.got += starts_[constant];
            write_at(symbol.got, symbol.address);
            if (symbol.stub == none)
                continue;
            symbol.stub += starts_[code];
            const auto distance = static_cast<std::int32_t>(symbol.got - (symbol.stub + 6));
            write_at(symbol.stub, std::array<std::uint8_t, 2>{0xff, 0x25}); // jmp *distance(%rip)
            write_at(symbol.stub + 2, distance);
        }
    }

    void relocate() {
        for_each_relocation([&](const Section& target, const Elf64_Rela& entry) {
            const std::uint64_t type = ELF64_R_TYPE(entry.r_info);
            if (type == R_X86_64_NONE)
                return;
            const Symbol& symbol = symbols_[ELF64_R_SYM(entry.r_info)];
            const std::uint64_t place = target.offset + entry.r_offset;
            std::uint64_t value = symbol.address;
            if (through_got(type))
                value = address_of(symbol.got);
            else if (symbol.stub != none && type != R_X86_64_64 && type != R_X86_64_PC64)
                value = address_of(symbol.stub);
            value += static_cast<std::uint64_t>(entry.r_addend);
            if (type != R_X86_64_64)
                value -= address_of(place);
            if (type == R_X86_64_64 || type == R_X86_64_PC64)
                return write_at(place, value);
            const auto distance = static_cast<std::int64_t>(value);
            demand(distance >= std::numeric_limits<std::int32_t>::min() &&
                       distance <= std::numeric_limits<std::int32_t>::max(),
                   "a relocation reaches too far");
            write_at(place, static_cast<std::int32_t>(distance));
        });
    }

    void protect() {
        const auto set = [&](Part part, int rights) {
            const std::uint64_t bytes = ends_[part] - starts_[part];
            if (bytes != 0 && mprotect(object_->base_ + starts_[part], bytes, rights) != 0)
                refuse("the system refused to make memory executable", CUDA_ERROR_OPERATING_SYSTEM);
        };
        set(code, PROT_READ | PROT_EXEC);
        set(constant, PROT_READ);
    }

    void export_symbols() {
        for (const Symbol& symbol : symbols_) {
            const unsigned type = ELF64_ST_TYPE(symbol.raw.st_info), section = symbol.raw.st_shndx;
            if (symbol.external || symbol.name.empty() ||
                ELF64_ST_BIND(symbol.raw.st_info) == STB_LOCAL)
                continue;
            if (section == SHN_ABS || (section < SHN_LORESERVE && !sections_[section].loaded))
                continue;
            object_->symbols_.insert_or_assign(
                std::string(symbol.name),
                LoadedObject::Symbol{reinterpret_cast<std::byte*>(symbol.address),
                                     symbol.raw.st_size, type == STT_FUNC});
        }
    }

    std::span<const std::byte> image_;
    std::vector<Section> sections_;
    std::vector<Symbol> symbols_;
    const LoadedObject* shared_;
    std::uint64_t common_bytes_ = 0;
    std::array<std::uint64_t, part_count> starts_{}, ends_{};
    std::unique_ptr<LoadedObject> object_;
};

std::unique_ptr<LoadedObject> LoadedObject::load(std::span<const std::byte> image,
                                                 LoadProblem& problem, const LoadedObject* shared) {
    try {
        return ObjectReader(image, shared).load();
    } catch (LoadProblem& found) {
        problem = std::move(found);
    } catch (const std::bad_alloc&) {
        problem = {CUDA_ERROR_OUT_OF_MEMORY, "no memory to load the object"};
    }
    return nullptr;
}

LoadedObject::~LoadedObject() {
    if (base_ != nullptr)
        munmap(base_, bytes_);
}

const LoadedObject::Symbol* LoadedObject::find(const std::string& name) const {
    const auto found = symbols_.find(name);
    return found == symbols_.end() ? nullptr : &found->second;
}

} // namespace quern::host
