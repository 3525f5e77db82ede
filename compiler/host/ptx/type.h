// PTX's types: .b8 to .b64, .u, .s, .f, .bf16, their pairs in a word, and .pred.
#pragma once
#include <llvm/IR/DerivedTypes.h>
#include <optional>
#include <string_view>

namespace quern::host::ptx {

struct Type {
    enum Kind { bits, unsigned_integer, signed_integer, real, brain, predicate } kind = bits;
    unsigned width = 32; // of one element
    unsigned lanes = 1;

    unsigned size() const { return width * lanes; }
    bool is_signed() const { return kind == signed_integer; }
    bool is_real() const { return kind == real || kind == brain; }
    bool is_integer() const { return !is_real() && kind != predicate; }
    llvm::Type* scalar(llvm::LLVMContext& context) const {
        if (kind == brain)
            return llvm::Type::getBFloatTy(context);
        if (kind == real)
            return width == 16   ? llvm::Type::getHalfTy(context)
                   : width == 32 ? llvm::Type::getFloatTy(context)
                                 : llvm::Type::getDoubleTy(context);
        return llvm::Type::getIntNTy(context, width);
    }
    llvm::Type* value(llvm::LLVMContext& context) const {
        return lanes == 1 ? scalar(context) : llvm::FixedVectorType::get(scalar(context), lanes);
    }
};

inline std::optional<Type> find_type(std::string_view name) {
    struct Row {
        std::string_view name;
        Type type;
    };
    static constexpr Row rows[] = {
        {"b8", {Type::bits, 8}},
        {"b16", {Type::bits, 16}},
        {"b32", {Type::bits, 32}},
        {"b64", {Type::bits, 64}},
        {"b128", {Type::bits, 128}},
        {"u8", {Type::unsigned_integer, 8}},
        {"u16", {Type::unsigned_integer, 16}},
        {"u32", {Type::unsigned_integer, 32}},
        {"u64", {Type::unsigned_integer, 64}},
        {"s8", {Type::signed_integer, 8}},
        {"s16", {Type::signed_integer, 16}},
        {"s32", {Type::signed_integer, 32}},
        {"s64", {Type::signed_integer, 64}},
        {"u16x2", {Type::unsigned_integer, 16, 2}},
        {"s16x2", {Type::signed_integer, 16, 2}},
        {"f16", {Type::real, 16}},
        {"f32", {Type::real, 32}},
        {"f64", {Type::real, 64}},
        {"f16x2", {Type::real, 16, 2}},
        {"bf16", {Type::brain, 16}},
        {"bf16x2", {Type::brain, 16, 2}},
        {"pred", {Type::predicate, 1}},
    };
    for (const auto& row : rows)
        if (row.name == name)
            return row.type;
    return std::nullopt;
}

} // namespace quern::host::ptx
