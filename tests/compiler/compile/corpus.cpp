// Reads the recorded kernels and makes plans for them.
#include "tests/compiler/compile/corpus.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace quern {
namespace {

std::string unescape(const std::string& text) {
    std::string plain;
    for (std::size_t k = 0; k < text.size(); ++k) {
        if (text[k] != '\\' || k + 1 == text.size()) {
            plain += text[k];
            continue;
        }
        const char next = text[++k];
        plain += next == 'n' ? '\n' : next == 't' ? '\t' : next;
    }
    return plain;
}

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, at);)
        parts.push_back(part);
    return parts;
}

ArgType arg_type(const std::string& text) {
    ArgType type;
    if (text == "s") {
        type.kind = ArgType::Kind::scalar;
        type.dtype = DType::int64;
    } else if (text.starts_with("a:")) {
        const std::vector<std::string> parts = split(text, ':');
        type.kind = ArgType::Kind::array;
        type.dtype = find_dtype(parts.at(1)).value();
        type.ndim = std::stoi(parts.at(2));
    }
    return type;
}

} // namespace

std::vector<CorpusKernel> read_corpus(const std::string& path) {
    std::ifstream file(path);
    if (!file)
        throw std::runtime_error("cannot read " + path);
    std::vector<CorpusKernel> kernels;
    for (std::string line; std::getline(file, line);) {
        std::vector<std::string> fields;
        for (const std::string& field : split(line + "\t", '\t'))
            fields.push_back(unescape(field));
        if (fields.size() != 10)
            throw std::runtime_error("a corpus line has " + std::to_string(fields.size()) +
                                     " fields: " + line);
        ElementwiseText text;
        text.name = fields[0];
        text.in_params = fields[1];
        text.out_params = fields[2];
        text.operation = fields[3];
        text.preamble = fields[4];
        text.loop_prep = fields[5];
        text.after_loop = fields[6];
        text.options = split(fields[7], '\x1f');
        text.reduce_dims = fields[8] == "1";
        CorpusKernel kernel{make_elementwise_spec(text), {}};
        for (const std::string& arg : split(fields[9], ','))
            kernel.args.push_back(arg_type(arg));
        kernels.push_back(std::move(kernel));
    }
    return kernels;
}

std::vector<ElementwiseVariant> corpus_variants(const CorpusKernel& kernel,
                                                const Signature& signature, Target target) {
    const ElementwiseSpec& spec = kernel.spec;
    constexpr std::int64_t rows = 256, columns = 512;
    const std::int64_t shape[] = {rows, columns};
    std::vector<ElementwiseVariant> variants;
    for (int way = 0; way < 3; ++way) { // dense; every second column; inputs transposed
        std::vector<std::vector<std::int64_t>> strides;
        std::vector<Operand> operands;
        ElementwiseVariant variant;
        strides.reserve(spec.params.size());
        for (std::size_t k = 0; k < spec.params.size(); ++k) {
            if (spec.params[k].raw) {
                const int ndim =
                    kernel.args[k].kind == ArgType::Kind::array ? kernel.args[k].ndim : 1;
                variant.raw.push_back({static_cast<std::uint8_t>(ndim), way == 0, way < 2});
                continue;
            }
            if (!signature.params[k].is_array)
                continue;
            const auto item = static_cast<std::int64_t>(bytes_of(signature.params[k].dtype));
            const bool output = spec.params[k].output;
            strides.push_back(way == 2 && !output ? std::vector{item, item * rows}
                                                  : std::vector{item * columns * (way == 1 ? 2 : 1),
                                                                item * (way == 1 ? 2 : 1)});
            operands.push_back({shape, strides.back().data(), 2, static_cast<std::uint32_t>(item),
                                0x1000, output});
        }
        PlanRequest request;
        request.shape = shape;
        request.operands = operands;
        request.target = target;
        request.body = needs_of(spec);
        ElementwisePlan plan;
        if (!plan_elementwise(request, plan))
            throw std::runtime_error("no plan");
        variant.layout = plan.layout;
        variants.push_back(std::move(variant));
    }
    return variants;
}

} // namespace quern
