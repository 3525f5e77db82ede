// Packs arguments, positions and the numbers of the nest in the order in which generated text
// declares them.
#include "compiler/base/error.h"
#include "compiler/base/text.h"
#include "runtime/kernel/call.h"

#include <cstring>

namespace quern {
namespace {

void put_word(std::byte*& place, std::int64_t word) {
    std::memcpy(place, &word, sizeof word);
    place += sizeof word;
}

} // namespace

std::byte* PackedParameters::reserve(std::size_t bytes) {
    std::byte* place = store_.data() + used_;
    used_ += (bytes + 15) & ~std::size_t{15};
    if (used_ > store_.size())
        throw ValueError(join("kernel '", spec_.name, "': its parameters take more than CUDA's ",
                              limit_bytes, " bytes; pass fewer raw arrays or structures"));
    pointers_[static_cast<std::size_t>(count_++)] = place;
    return place;
}

std::shared_ptr<PackedParameters> PackedParameters::copy() const {
    auto made = std::make_shared<PackedParameters>(spec_);
    std::memcpy(made->store_.data(), store_.data(), used_);
    made->used_ = used_;
    made->count_ = count_;
    for (std::size_t k = 0; k < static_cast<std::size_t>(count_); ++k)
        made->pointers_[k] =
            made->store_.data() + (static_cast<std::byte*>(pointers_[k]) - store_.data());
    return made;
}

void PackedParameters::add_arguments(const Signature& signature, std::span<const Argument> args,
                                     const ParamArrays& arrays) {
    for (std::size_t k = 0; k < spec_.params.size(); ++k) {
        const Array* array = arrays[k];
        if (array == nullptr) {
            const Argument& argument = args[k];
            if (argument.kind == ArgType::Kind::structure)
                std::memcpy(reserve(argument.layout->bytes), argument.structure_bytes,
                            argument.layout->bytes);
            else
                store_scalar(argument.scalar, signature.params[k].dtype, reserve(16));
            continue;
        }
        const bool raw = spec_.params[k].raw;
        std::byte* place = reserve(raw ? 16 + 16 * static_cast<std::size_t>(array->ndim()) : 8);
        put_word(place, static_cast<std::int64_t>(array->address()));
        if (!raw)
            continue;
        put_word(place, array->size()); // CArray: data, size, shape, strides
        for (const std::int64_t extent : array->shape())
            put_word(place, extent);
        for (const std::int64_t stride : array->strides())
            put_word(place, stride);
    }
}

// CIndexer: size, shape[ndim + 1], position[ndim + 1].
void PackedParameters::add_indexer(std::span<const std::int64_t> shape) {
    std::byte* place = reserve(8 * (3 + 2 * shape.size()));
    std::int64_t count = 1;
    for (const std::int64_t extent : shape)
        count *= extent;
    put_word(place, count);
    for (const std::int64_t extent : shape)
        put_word(place, extent);
    std::memset(place, 0, 8 * (2 + shape.size()));
}

void PackedParameters::add_pointer(std::uint64_t address) {
    std::byte* place = reserve(8);
    put_word(place, static_cast<std::int64_t>(address));
}

void PackedParameters::add_nest(const std::vector<ReductionField>& fields,
                                const ReductionPlan& plan) {
    pack_reduction(fields, plan, reserve(24 * fields.size()));
}

void PackedParameters::add_nest(const std::vector<ScanField>& fields, const ScanPlan& plan) {
    pack_scan(fields, plan, reserve(24 * fields.size()));
}

void PackedParameters::add_nest(const std::vector<RowField>& fields, const RowPlan& plan) {
    pack_rows(fields, plan, reserve(24 * fields.size()));
}

void PackedParameters::add_nest(const std::vector<NestField>& fields, const ElementwisePlan& plan) {
    pack_nest(fields, plan, reserve(24 * fields.size()));
}

} // namespace quern
