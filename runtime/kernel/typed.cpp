// Keys of argument types, raw layouts, modules: the parts that every kind of kernel shares.
#include "runtime/kernel/typed.h"

#include "compiler/base/error.h"
#include "runtime/driver/check.h"

#include <algorithm>
#include <cstdlib>

namespace quern {

ByteKey type_key(const KernelSpec& spec, std::span<const Argument> args) {
    ByteKey key;
    for (const Argument& argument : args) {
        switch (argument.kind) {
        case ArgType::Kind::missing:
            key.add(0);
            break;
        case ArgType::Kind::scalar:
            key.add(1);
            break;
        case ArgType::Kind::array:
            key.add(static_cast<std::uint8_t>(2 + static_cast<int>(argument.array->dtype())));
            break;
        case ArgType::Kind::structure:
            key.add(32);
            break;
        }
    }
    for (const Argument& argument : args)
        if (argument.kind == ArgType::Kind::structure) {
            if (key.size + 8 > ByteKey::capacity)
                throw TypeError(join("kernel '", spec.name, "' has too many structured arguments"));
            key.add_word(std::hash<std::string>{}(argument.layout->spelling));
        }
    return key;
}

Signature resolve_arguments(const KernelSpec& spec, std::span<const Argument> args) {
    std::vector<ArgType> types;
    for (const Argument& argument : args) {
        ArgType type;
        type.kind = argument.kind;
        if (argument.kind == ArgType::Kind::array) {
            type.dtype = argument.array->dtype();
            type.ndim = argument.array->ndim();
        } else if (argument.kind == ArgType::Kind::scalar) {
            type.dtype = argument.scalar.dtype;
        }
        type.layout = argument.layout;
        types.push_back(std::move(type));
    }
    return resolve(spec, types);
}

std::string types_text(const Signature& signature) {
    std::string text;
    for (std::size_t k = 0; k < signature.params.size(); ++k)
        text +=
            join(k ? ", " : "", signature.params[k].layout ? std::string_view("structure")
                                                           : row(signature.params[k].dtype).name);
    return text;
}

RawLayout raw_layout(const Array& array) {
    std::int64_t span = static_cast<std::int64_t>(bytes_of(array.dtype()));
    for (int d = 0; d < array.ndim(); ++d)
        span += std::abs(array.strides()[d]) * std::max<std::int64_t>(0, array.shape()[d] - 1);
    return {static_cast<std::uint8_t>(array.ndim()), array.c_contiguous(),
            span < (std::int64_t{1} << 31)};
}

void add_raw(const RawLayout& raw, ByteKey& key) {
    key.add(raw.ndim);
    key.add(static_cast<std::uint8_t>(raw.c_contiguous | raw.narrow << 1));
}

ModuleHandle load_module(Device& device, const Binary& binary, const std::string& name) {
    device.make_current();
    CUmodule module = nullptr;
    check(device.api(), device.api().cuModuleLoadData(&module, binary.image.data()),
          "load the binary of kernel '", name, "' on ", device.name());
    return ModuleHandle(module, {&device.api()});
}

CUfunction find_function(const Device& device, const ModuleHandle& module,
                         const std::string& symbol) {
    CUfunction function = nullptr;
    check(device.api(), device.api().cuModuleGetFunction(&function, module.get(), symbol.c_str()),
          "find kernel '", symbol, "' in its binary");
    return function;
}

} // namespace quern
