// CBLAS on the CPU: that of a library which is in the process already (NumPy's OpenBLAS), else one
// of the system's. Calls are made in stream order.
#include "compiler/base/library.h"
#include "compiler/base/text.h"
#include "runtime/blas/providers.h"
#include "runtime/driver/check.h"
#include "runtime/host/host_driver.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include <dlfcn.h>
#include <link.h>

namespace quern::cblas {
namespace {

constexpr int row_major = 101, as_it_is = 111, transposed = 112, upper = 121;

// cblas_?gemm, cblas_?gemv and cblas_?syrk with integers of 32 or 64 bits; factors by value for
// real dtypes, by address for complex ones.
template <class Int, class Factor, class Item>
using Function = void (*)(int, int, int, Int, Int, Int, Factor, const Item*, Int, const Item*, Int,
                          Factor, Item*, Int);
template <class Int, class Factor, class Item>
using VectorFunction = void (*)(int, int, Int, Int, Factor, const Item*, Int, const Item*, Int,
                                Factor, Item*, Int);

template <class Int, class Factor, class Item>
using SquareFunction = void (*)(int, int, int, Int, Int, Factor, const Item*, Int, Factor, Item*,
                                Int);

// Of one dtype: a matrix by a matrix, by a vector, and by its own transpose, which may be missing.
struct Functions {
    void* matrix = nullptr;
    void* vector = nullptr;
    void* square = nullptr;
    [[nodiscard]] bool whole() const { return matrix != nullptr && vector != nullptr; }
};

struct Blas {
    std::string path;
    bool wide = false; // integers of 64 bits
    Functions s, d, c, z;
};

struct Spelling {
    std::string_view before, after;
    bool wide;
};
constexpr std::array spellings{Spelling{"scipy_cblas_", "64_", true},
                               Spelling{"cblas_", "64_", true}, Spelling{"scipy_cblas_", "", false},
                               Spelling{"cblas_", "", false}};

bool bind(Blas& blas, const Library& library) {
    for (const Spelling& spelling : spellings) {
        const auto find = [&](char letter) {
            const auto named = [&](const char* name) {
                return library.symbol(join(spelling.before, letter, name, spelling.after).c_str());
            };
            return Functions{named("gemm"), named("gemv"), named("syrk")};
        };
        blas = {library.path(), spelling.wide, find('s'), find('d'), find('c'), find('z')};
        if (blas.s.whole() && blas.d.whole() && blas.c.whole() && blas.z.whole())
            return true;
    }
    return false;
}

// Paths of the loaded libraries that may be a BLAS by their names.
std::vector<std::string> loaded_candidates() {
    std::vector<std::string> paths;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* into) {
            const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
            const std::string_view file = path.substr(path.rfind('/') + 1);
            if (file.find("blas") != file.npos && file.find("libcublas") == file.npos)
                static_cast<std::vector<std::string>*>(into)->emplace_back(path);
            return 0;
        },
        &paths);
    return paths;
}

const Blas* find_blas() {
    static const Blas* const found = []() -> const Blas* {
        auto blas = std::make_unique<Blas>();
        for (const std::string& path : loaded_candidates())
            if (void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
                handle != nullptr && bind(*blas, Library(handle, path)))
                return blas.release();
        if (const Library library = load_library("blas"); library && bind(*blas, library))
            return blas.release();
        return nullptr;
    }();
    return found;
}

template <class Item> Item* at(const GemmMatrix& matrix, std::int64_t offset) {
    return reinterpret_cast<Item*>(matrix.address) + offset;
}
int side(const GemmMatrix& matrix, bool turned = false) {
    return matrix.transposed != turned ? transposed : as_it_is;
}

template <class Int, class Factor, class Item>
void by_matrix(void* function, const Gemm& product, const GemmWalk& walk, Factor one, Factor zero) {
    const auto call = reinterpret_cast<Function<Int, Factor, Item>>(function);
    call(row_major, side(product.a), side(product.b), static_cast<Int>(product.m),
         static_cast<Int>(product.n), static_cast<Int>(product.k), one,
         at<Item>(product.a, walk.a()), static_cast<Int>(product.a.pitch),
         at<Item>(product.b, walk.b()), static_cast<Int>(product.b.pitch), zero,
         at<Item>(product.c, walk.c()), static_cast<Int>(product.c.pitch));
}

// Is it a matrix by its own transpose?
bool is_square(const Gemm& product, const GemmWalk& walk, std::int64_t item) {
    const GemmMatrix &a = product.a, &b = product.b;
    return product.m == product.n && a.transposed != b.transposed && a.pitch == b.pitch &&
           a.address + static_cast<std::uint64_t>(walk.a() * item) ==
               b.address + static_cast<std::uint64_t>(walk.b() * item);
}

// Half of the work: what is above the diagonal is computed, and copied below it.
template <class Int, class Factor, class Item>
void by_itself(void* function, const Gemm& product, const GemmWalk& walk, Factor one, Factor zero) {
    const auto call = reinterpret_cast<SquareFunction<Int, Factor, Item>>(function);
    Item* const c = at<Item>(product.c, walk.c());
    const std::int64_t n = product.n, pitch = product.c.pitch;
    call(row_major, upper, side(product.a), static_cast<Int>(n), static_cast<Int>(product.k), one,
         at<Item>(product.a, walk.a()), static_cast<Int>(product.a.pitch), zero, c,
         static_cast<Int>(pitch));
    constexpr std::int64_t tile = 32;
    for (std::int64_t top = 0; top < n; top += tile)
        for (std::int64_t left = 0; left <= top; left += tile)
            for (std::int64_t i = top; i < std::min(top + tile, n); ++i)
                for (std::int64_t j = left; j < std::min(left + tile, i); ++j)
                    std::memcpy(c + i * pitch + j, c + j * pitch + i, sizeof(Item));
}

// One column: c = a @ b. One row: c' = b' @ a'.
template <class Int, class Factor, class Item>
void by_vector(void* function, const Gemm& product, const GemmWalk& walk, Factor one, Factor zero) {
    const auto call = reinterpret_cast<VectorFunction<Int, Factor, Item>>(function);
    const bool column = product.n == 1;
    const GemmMatrix &matrix = column ? product.a : product.b,
                     &vector = column ? product.b : product.a;
    const std::int64_t rows = column ? product.m : product.k, // of the matrix, and as it lies
        columns = column ? product.k : product.n, lying_rows = matrix.transposed ? columns : rows,
                       lying_columns = matrix.transposed ? rows : columns;
    const std::int64_t step = vector.transposed == column ? 1 : vector.pitch,
                       step_c = column ? product.c.pitch : 1;
    call(row_major, side(matrix, !column), static_cast<Int>(lying_rows),
         static_cast<Int>(lying_columns), one, at<Item>(matrix, column ? walk.a() : walk.b()),
         static_cast<Int>(matrix.pitch), at<Item>(vector, column ? walk.b() : walk.a()),
         static_cast<Int>(step), zero, at<Item>(product.c, walk.c()), static_cast<Int>(step_c));
}

template <class Int, class Factor, class Item>
void run(const Functions& functions, const Gemm& product, Factor one, Factor zero) {
    const bool vector = product.m == 1 || product.n == 1;
    for (GemmWalk walk(product.batch, product.batch.size()); !walk.done(); walk.next())
        if (vector)
            by_vector<Int, Factor, Item>(functions.vector, product, walk, one, zero);
        else if (functions.square != nullptr && is_square(product, walk, sizeof(Item)))
            by_itself<Int, Factor, Item>(functions.square, product, walk, one, zero);
        else
            by_matrix<Int, Factor, Item>(functions.matrix, product, walk, one, zero);
}

template <class Int> void run(const Blas& blas, const Gemm& product) {
    static constexpr double one[2] = {1, 0}, zero[2] = {0, 0};
    static constexpr float one_float[2] = {1, 0}, zero_float[2] = {0, 0};
    switch (product.dtype) {
    case DType::float32:
        return run<Int, float, float>(blas.s, product, 1, 0);
    case DType::float64:
        return run<Int, double, double>(blas.d, product, 1, 0);
    case DType::complex64:
        return run<Int, const void*, float[2]>(blas.c, product, one_float, zero_float);
    default:
        return run<Int, const void*, double[2]>(blas.z, product, one, zero);
    }
}

} // namespace

bool has(DType dtype) {
    const bool served = dtype == DType::float32 || dtype == DType::float64 ||
                        dtype == DType::complex64 || dtype == DType::complex128;
    return served && find_blas() != nullptr;
}

const std::string& path() {
    static const std::string none;
    const Blas* blas = find_blas();
    return blas == nullptr ? none : blas->path;
}

void gemm(Device& device, CUstream stream, const Gemm& product) {
    const auto call = [](const void* data) {
        const Blas& blas = *find_blas();
        const Gemm& work = *static_cast<const Gemm*>(data);
        blas.wide ? run<std::int64_t>(blas, work) : run<int>(blas, work);
    };
    check(device.api(), launch_host_work(stream, call, std::make_shared<const Gemm>(product)),
          "multiply matrices");
}

} // namespace quern::cblas
