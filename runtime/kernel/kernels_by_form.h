// The elementwise kernels of the library's own, made when they are first asked for and kept.
#pragma once
#include "runtime/kernel/elementwise.h"

#include <map>
#include <memory>
#include <mutex>

namespace quern {

// The kernel of `spec_of(form)`. Thread safe; its place never changes.
template <auto spec_of, class Form> ElementwiseKernel& kernel_by_form(const Form& form) {
    static std::mutex mutex;
    static auto* const kernels = new std::map<Form, std::unique_ptr<ElementwiseKernel>>;
    const std::lock_guard lock(mutex);
    auto& kernel = (*kernels)[form];
    if (!kernel)
        kernel = std::make_unique<ElementwiseKernel>(spec_of(form), true);
    return *kernel;
}

} // namespace quern
