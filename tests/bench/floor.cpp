// The floors: bare driver calls in a C loop, for the rows that are held against them. Loaded by
// floor.py; finds libcuda by itself and needs no header. Uses the primary context, as quern does.
#include <chrono>
#include <cstddef>
#include <dlfcn.h>

namespace {

using Status = int;
using Handle = void*;

struct Api {
    Status (*init)(unsigned);
    Status (*device)(int*, int);
    Status (*retain)(Handle*, int);
    Status (*set_current)(Handle);
    Status (*load)(Handle*, const void*);
    Status (*function)(Handle*, Handle, const char*);
    Status (*allocate)(unsigned long long*, std::size_t);
    Status (*release)(unsigned long long);
    Status (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     Handle, void**, void**);
    Status (*copy)(unsigned long long, unsigned long long, std::size_t, Handle);
    Status (*wait)();
} api;
Handle kernel;
unsigned long long buffers[3];

// z[i] = x[i] + y[i] for i < n, by hand, so that nothing has to be compiled.
const char* const ptx = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry add(.param .u64 px, .param .u64 py, .param .u64 pz, .param .u32 pn)
{
    .reg .pred %p;
    .reg .b32 %i, %n, %b, %t;
    .reg .b64 %x, %y, %z, %o;
    .reg .f32 %f, %g;
    mov.u32 %b, %ctaid.x;
    mov.u32 %t, %ntid.x;
    mul.lo.u32 %i, %b, %t;
    mov.u32 %t, %tid.x;
    add.u32 %i, %i, %t;
    ld.param.u32 %n, [pn];
    setp.ge.u32 %p, %i, %n;
    @%p bra done;
    ld.param.u64 %x, [px];
    ld.param.u64 %y, [py];
    ld.param.u64 %z, [pz];
    mul.wide.u32 %o, %i, 4;
    add.u64 %x, %x, %o;
    add.u64 %y, %y, %o;
    add.u64 %z, %z, %o;
    ld.global.f32 %f, [%x];
    ld.global.f32 %g, [%y];
    add.f32 %f, %f, %g;
    st.global.f32 [%z], %f;
done:
    ret;
}
)";

template <class F> bool load(Handle library, F& target, const char* name) {
    target = reinterpret_cast<F>(dlsym(library, name));
    return target != nullptr;
}

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

} // namespace

extern "C" {

// 0, or the number of the step that failed.
int floor_open(int ordinal) {
    Handle library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        return 1;
    if (!load(library, api.init, "cuInit") || !load(library, api.device, "cuDeviceGet") ||
        !load(library, api.retain, "cuDevicePrimaryCtxRetain") ||
        !load(library, api.set_current, "cuCtxSetCurrent") ||
        !load(library, api.load, "cuModuleLoadData") ||
        !load(library, api.function, "cuModuleGetFunction") ||
        !load(library, api.allocate, "cuMemAlloc_v2") ||
        !load(library, api.release, "cuMemFree_v2") ||
        !load(library, api.launch, "cuLaunchKernel") ||
        !load(library, api.copy, "cuMemcpyDtoDAsync_v2") ||
        !load(library, api.wait, "cuCtxSynchronize"))
        return 2;
    int device = 0;
    Handle context = nullptr, module = nullptr;
    if (api.init(0) || api.device(&device, ordinal))
        return 3;
    if (api.retain(&context, device) || api.set_current(context))
        return 4;
    if (api.load(&module, ptx) || api.function(&kernel, module, "add"))
        return 5;
    for (auto& buffer : buffers)
        if (api.allocate(&buffer, 4096))
            return 6;
    return 0;
}

// Microseconds a launch: `count` launches of a kernel with 4 arguments on 1000 elements, then one
// wait. < 0: failed.
double floor_launch_us(int count) {
    unsigned n = 1000;
    void* arguments[] = {&buffers[0], &buffers[1], &buffers[2], &n};
    api.wait();
    const double began = seconds();
    for (int k = 0; k < count; ++k)
        if (api.launch(kernel, 8, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr))
            return -1;
    if (api.wait())
        return -1;
    return (seconds() - began) / count * 1e6;
}

// GB/s of device to device copies of so many bytes, counting bytes read and written. < 0: failed.
double floor_copy_gbs(std::size_t bytes, int count) {
    unsigned long long from = 0, to = 0;
    if (api.allocate(&from, bytes) || api.allocate(&to, bytes))
        return -1;
    api.copy(to, from, bytes, nullptr);
    api.wait();
    const double began = seconds();
    for (int k = 0; k < count; ++k)
        api.copy(to, from, bytes, nullptr);
    const bool failed = api.wait() != 0;
    const double elapsed = seconds() - began;
    api.release(from);
    api.release(to);
    return failed ? -1 : 2.0 * static_cast<double>(bytes) * count / elapsed / 1e9;
}
}
