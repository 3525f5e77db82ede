// One call of a ufunc: the loop, the kernel, the layout of new outputs, overlap, then the launch.
#include "runtime/kernel/ufunc.h"

#include "compiler/base/error.h"
#include "runtime/array/views.h"
#include "runtime/kernel/call.h"
#include "runtime/kernel/casts.h"
#include "runtime/kernel/fill.h"
#include "runtime/kernel/kernels_by_form.h"
#include "runtime/kernel/table.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>

namespace quern {
namespace {

constexpr std::size_t most_arguments = most_ufunc_operands + 1; // with a mask

// What a list of argument types comes to.
struct Resolved {
    ElementwiseKernel* kernel = nullptr;
    UfuncLoop loop;
    bool drops_imaginary = false; // of an input, or of a result
};

std::mutex& table_mutex() {
    static std::mutex mutex;
    return mutex;
}
ByteTable<Resolved>& table_of(Ufunc ufunc) {
    static auto* const tables = new std::array<ByteTable<Resolved>, ufunc_count>;
    return (*tables)[static_cast<std::size_t>(ufunc)];
}

bool compares(Ufunc ufunc) { return ufunc >= Ufunc::equal && ufunc <= Ufunc::greater_equal; }

bool is_integer(DType dtype) {
    return row(dtype).kind == Kind::signed_integer || row(dtype).kind == Kind::unsigned_integer;
}

bool holds(DType dtype, const Scalar& value) { // an integer
    const int bits = 8 * static_cast<int>(bytes_of(dtype));
    const bool is_signed = row(dtype).kind == Kind::signed_integer;
    if (value.kind == Scalar::Kind::unsigned_integer)
        return !is_signed && bits == 64;
    if (!is_signed)
        return value.integer >= 0 && (bits == 64 || value.integer >> bits == 0);
    return bits == 64 || (value.integer >> (bits - 1)) == (value.integer < 0 ? -1 : 0);
}

bool is_logical(Ufunc ufunc) {
    return ufunc == Ufunc::logical_and || ufunc == Ufunc::logical_or || ufunc == Ufunc::logical_xor;
}

// Ints that are no element of the dtype beside them, where NumPy does not refuse them: compared
// they are 64-bit integers, divided floats, and of logic's only their truth counts.
void fit_ints(Ufunc ufunc, std::array<Argument, most_arguments>& args) {
    const bool comparing = compares(ufunc), dividing = ufunc == Ufunc::divide;
    if (!comparing && !dividing && !is_logical(ufunc))
        return;
    for (std::size_t k = 0; k < 2; ++k) {
        const Argument& other = args[1 - k];
        Scalar& value = args[k].scalar;
        if (args[k].kind != ArgType::Kind::scalar || value.is_numpy ||
            (value.kind != Scalar::Kind::integer && value.kind != Scalar::Kind::unsigned_integer))
            continue;
        const DType beside =
            other.kind == ArgType::Kind::array ? other.array->dtype() : other.scalar.dtype;
        if (!is_integer(beside) || holds(beside, value))
            continue;
        const bool is_unsigned = value.kind == Scalar::Kind::unsigned_integer;
        if (dividing) {
            value = Scalar::of(is_unsigned ? static_cast<double>(value.unsigned_integer)
                                           : static_cast<double>(value.integer));
        } else if (comparing) {
            value.is_numpy = true;
            value.dtype = is_unsigned ? DType::uint64 : DType::int64;
        } else {
            value = Scalar::of(true); // it is not 0
        }
    }
}

UfuncInput input_of(const Argument& argument) {
    UfuncInput input;
    if (argument.kind == ArgType::Kind::array) {
        input.dtype = argument.array->dtype();
        return input;
    }
    const Scalar& value = argument.scalar;
    input.dtype = value.dtype;
    input.weak = !value.is_numpy && value.kind != Scalar::Kind::boolean;
    input.kind = value.kind == Scalar::Kind::floating  ? WeakScalar::floating
                 : value.kind == Scalar::Kind::complex ? WeakScalar::complex
                                                       : WeakScalar::integer;
    return input;
}

ByteKey key_of(std::span<const Argument> inputs, const UfuncCall& call) {
    ByteKey key;
    for (const Argument& argument : inputs) {
        const UfuncInput input = input_of(argument);
        const bool scalar = argument.kind != ArgType::Kind::array;
        key.add(static_cast<std::uint8_t>(static_cast<int>(input.dtype) | input.weak << 4 |
                                          scalar << 5));
    }
    for (const Array* output : call.outputs)
        key.add(output == nullptr ? 0xff : static_cast<std::uint8_t>(output->dtype()));
    key.add(static_cast<std::uint8_t>(static_cast<int>(call.types.casting) << 1 |
                                      (call.where != nullptr)));
    for (const std::optional<DType>& type : call.types.fixed)
        key.add(type ? static_cast<std::uint8_t>(*type) : 0xff);
    return key;
}

Resolved& resolve(Ufunc ufunc, std::span<const Argument> inputs, const UfuncCall& call) {
    ByteTable<Resolved>& table = table_of(ufunc);
    const ByteKey key = key_of(inputs, call);
    if (Resolved* found = table.find(key)) [[likely]]
        return *found;
    const UfuncRow& wanted = row(ufunc);
    auto made = std::make_unique<Resolved>();
    made->loop = find_loop(ufunc, inputs, call.types);
    UfuncForm form;
    form.ufunc = ufunc;
    form.loop = made->loop;
    form.given = made->loop.types;
    form.masked = call.where != nullptr;
    for (std::size_t k = 0; k < inputs.size(); ++k)
        if (inputs[k].kind == ArgType::Kind::array)
            form.given[k] = inputs[k].array->dtype();
        else if (inputs[k].scalar.is_numpy)
            form.given[k] = inputs[k].scalar.dtype;
    for (int k = 0; k < outputs_of(wanted); ++k)
        if (const Array* output = call.outputs[static_cast<std::size_t>(k)]) {
            check_output(wanted, made->loop, k, output->dtype(), call.types.casting);
            form.given[inputs.size() + static_cast<std::size_t>(k)] = output->dtype();
        }
    for (std::size_t k = 0; k < inputs.size() + static_cast<std::size_t>(outputs_of(wanted)); ++k) {
        const bool is_input = k < inputs.size();
        made->drops_imaginary = made->drops_imaginary ||
                                drops_imaginary(is_input ? form.given[k] : made->loop.types[k],
                                                is_input ? made->loop.types[k] : form.given[k]);
    }
    const std::lock_guard lock(table_mutex());
    made->kernel = &kernel_by_form<ufunc_spec>(form);
    return table.insert(key, std::move(made));
}

// NumPy's order of axes for a new output: the faster of two is the one along which the inputs have
// the smaller strides; where they disagree, the later one.
Dims axes_from_outer(const CallShape& shape, std::span<const Argument> inputs) {
    Dims axes(static_cast<std::size_t>(shape.ndim));
    for (int d = 0; d < shape.ndim; ++d)
        axes[d] = d;
    const auto stride = [&](const Array& array, std::int64_t axis) -> std::int64_t {
        const int own = static_cast<int>(axis) - (shape.ndim - array.ndim());
        return own < 0 || array.shape()[own] == 1 ? 0 : std::abs(array.strides()[own]);
    };
    for (int d = 1; d < shape.ndim; ++d) {
        const std::int64_t moved = axes[d];
        int place = d;
        for (int e = d; e-- > 0;) {
            bool known = false, further_out = false;
            for (const Argument& input : inputs) {
                if (input.kind != ArgType::Kind::array)
                    continue;
                const std::int64_t mine = stride(*input.array, moved),
                                   theirs = stride(*input.array, axes[e]);
                if (mine == 0 || theirs == 0)
                    continue;
                if (mine <= theirs)
                    further_out = false;
                else if (!known)
                    further_out = true;
                known = true;
            }
            if (known && !further_out)
                break;
            if (known)
                place = e;
        }
        for (int e = d; e > place; --e)
            axes[e] = axes[e - 1];
        axes[place] = moved;
    }
    return axes;
}

// Must outputs be made here, because they are not to be in C order?
bool wants_own_layout(char order, std::span<const Argument> inputs) {
    if (order == 'C')
        return false;
    if (order == 'F')
        return true;
    return std::ranges::any_of(inputs, [](const Argument& input) {
        return input.kind == ArgType::Kind::array && !input.array->c_contiguous();
    });
}

Array make_output(DType dtype, const CallShape& shape, char order, std::span<const Argument> inputs,
                  Device& device, CUstream stream) {
    const Dims extents(std::span(shape.extents, static_cast<std::size_t>(shape.ndim)));
    if (order == 'A')
        order = std::ranges::all_of(inputs,
                                    [](const Argument& input) {
                                        return input.kind != ArgType::Kind::array ||
                                               input.array->f_contiguous();
                                    })
                    ? 'F'
                    : 'C';
    if (order != 'K')
        return Array::empty(device, dtype, extents, stream, order == 'F' ? Order::f : Order::c);
    const Dims axes = axes_from_outer(shape, inputs);
    Dims strides(static_cast<std::size_t>(shape.ndim));
    auto step = static_cast<std::int64_t>(bytes_of(dtype));
    for (int d = shape.ndim; d-- > 0;) {
        strides[static_cast<int>(axes[d])] = step;
        step *= std::max<std::int64_t>(1, extents[static_cast<int>(axes[d])]);
    }
    return Array::empty_strided(device, dtype, extents, std::move(strides), stream);
}

bool same_elements(const Array& a, const Array& b) {
    return a.address() == b.address() && bytes_of(a.dtype()) == bytes_of(b.dtype()) &&
           a.shape() == b.shape() && a.strides() == b.strides();
}

// Inputs that an output would overwrite while others of their elements are still to be read.
void part_from_outputs(std::span<Argument> inputs, const std::array<const Array*, 2>& outputs,
                       std::vector<Array>& copies) {
    for (const Array* output : outputs) {
        if (output == nullptr)
            continue;
        for (Argument& input : inputs) {
            if (input.kind != ArgType::Kind::array || same_elements(*input.array, *output) ||
                !may_share_memory(*input.array, *output))
                continue;
            const CUstream stream = current_stream(input.array->device());
            Array copy = empty_like(*input.array, input.array->dtype(), stream, LikeOrder::k);
            copy_into(copy, *input.array, stream);
            copies.reserve(outputs.size() * inputs.size()); // they must not move
            copies.push_back(std::move(copy));
            input.array = &copies.back();
        }
    }
}

void refuse_negative_powers(Ufunc ufunc, const UfuncLoop& loop, const Argument& exponent) {
    if (ufunc == Ufunc::power && exponent.kind == ArgType::Kind::scalar &&
        exponent.scalar.kind == Scalar::Kind::integer && exponent.scalar.integer < 0 &&
        is_integer(loop.types[0]) && holds(loop.types[0], exponent.scalar))
        throw ValueError("Integers to negative integer powers are not allowed.");
}

} // namespace

UfuncLoop find_loop(Ufunc ufunc, std::span<const Argument> inputs, const UfuncTypes& types) {
    std::array<UfuncInput, most_ufunc_operands> given;
    for (std::size_t k = 0; k < inputs.size(); ++k)
        given[k] = input_of(inputs[k]);
    return find_loop(row(ufunc), std::span(given.data(), inputs.size()), types);
}

std::optional<Ufunc> ufunc_named(std::string_view name) noexcept {
    const auto found = std::ranges::find(ufunc_table, name, &UfuncRow::name);
    return found == ufunc_table.end() ? std::nullopt : std::optional(found->id);
}

std::vector<Array> call_ufunc(Ufunc ufunc, const UfuncCall& call, void (*on_wait)(bool entering)) {
    const auto nin = call.inputs.size(), nout = static_cast<std::size_t>(outputs_of(row(ufunc)));
    std::array<Argument, most_arguments> args;
    std::copy(call.inputs.begin(), call.inputs.end(), args.begin());
    if (nin == 2)
        fit_ints(ufunc, args);
    Resolved& resolved = resolve(ufunc, std::span(args.data(), nin), call);
    if (resolved.drops_imaginary) [[unlikely]]
        note_cast(DType::complex128, DType::float64);
    if (nin == 2)
        refuse_negative_powers(ufunc, resolved.loop, args[1]);
    std::size_t count = nin;
    if (call.where != nullptr)
        args[count++] = *call.where;
    const std::span<Argument> inputs(args.data(), count);
    std::vector<Array> copies;
    part_from_outputs(inputs, call.outputs, copies);

    const std::size_t first = count;
    const bool any_given = call.outputs[0] != nullptr || call.outputs[1] != nullptr;
    const bool any_array = any_given || std::ranges::any_of(inputs, [](const Argument& input) {
                               return input.kind == ArgType::Kind::array;
                           });
    const bool makes = !any_array || wants_own_layout(call.order, inputs);
    for (std::size_t k = 0; k < nout; ++k)
        if (call.outputs[k] != nullptr)
            args[count++] = Argument::of(*call.outputs[k]);
        else
            args[count++] = Argument{};
    std::vector<Array> made;
    if (makes) {
        const ElementwiseSpec& spec = resolved.kernel->spec();
        Device& device = device_of_call(spec, std::span(args.data(), count));
        CallShape shape;
        if (any_array)
            decide_shape(spec, std::span(args.data(), count), -1, shape);
        else
            shape.set(shape.store.data(), 0);
        made.reserve(nout);
        for (std::size_t k = 0; k < nout; ++k)
            if (call.outputs[k] == nullptr) {
                made.push_back(make_output(resolved.loop.types[nin + k], shape, call.order, inputs,
                                           device, current_stream(device)));
                args[first + k] = Argument::of(made.back());
            }
    }
    const bool all_missing = !any_given && made.empty();
    std::vector<Array> outputs =
        (*resolved.kernel)(std::span(args.data(), all_missing ? first : count), {}, on_wait);
    return made.empty() ? std::move(outputs) : std::move(made);
}

} // namespace quern
