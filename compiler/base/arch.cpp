// Reads CPUID and names this machine's CPU the way LLVM's -target-cpu and -target-feature do.
#include "compiler/base/arch.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace quern {

#if defined(__x86_64__)
namespace {

struct Leaf {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf read_leaf(unsigned leaf, unsigned subleaf) {
    Leaf r;
    if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0)
        return {};
    return r;
}

} // namespace

Arch host_arch() {
    __builtin_cpu_init();
    Arch arch{Target::cpu, "x86-64"};
    if (__builtin_cpu_supports("x86-64-v2"))
        arch.name = "x86-64-v2";
    if (__builtin_cpu_supports("x86-64-v3"))
        arch.name = "x86-64-v3";
    if (!__builtin_cpu_supports("x86-64-v4"))
        return arch;

    // Past v4 (which already says that the system saves the wide registers): what half, bfloat16
    // and byte kernels use.
    arch.name = "x86-64-v4";
    const Leaf seven = read_leaf(7, 0);
    const Leaf more = seven.eax >= 1 ? read_leaf(7, 1) : Leaf{};
    if ((more.eax >> 5) & 1)
        arch.name += "+avx512bf16";
    if ((seven.edx >> 23) & 1)
        arch.name += "+avx512fp16";
    if ((seven.ecx >> 1) & 1)
        arch.name += "+avx512vbmi";
    if ((seven.ecx >> 14) & 1)
        arch.name += "+avx512vpopcntdq";
    return arch;
}
#else
Arch host_arch() { return {Target::cpu, "generic"}; }
#endif

} // namespace quern
