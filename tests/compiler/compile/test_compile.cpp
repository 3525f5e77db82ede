// The door, without a device: every kernel of the Python tests compiles for GPUs that are not here
// and for this CPU; an error comes back in the user's own lines, the same from both toolchains.
#include "compiler/base/error.h"
#include "compiler/compile.h"
#include "tests/compiler/compile/corpus.h"
#include "tests/private_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

namespace quern {
namespace {

[[maybe_unused]] const auto* const environment =
    testing::AddGlobalTestEnvironment(new PrivateCache);

struct Program {
    const CorpusKernel* kernel;
    Signature signature;
    ElementwiseVariant variant;
};

// Different programs of the corpus for a target; the dtype decides most texts, so each text is
// compiled once.
std::vector<Program> programs(const std::vector<CorpusKernel>& corpus, Target target) {
    std::vector<Program> all;
    std::set<std::string> seen;
    for (const CorpusKernel& kernel : corpus) {
        const Signature signature = resolve(kernel.spec, kernel.args);
        for (ElementwiseVariant& variant : corpus_variants(kernel, signature, target)) {
            std::string text = emit_elementwise(kernel.spec, signature, variant);
            for (const std::string& option : kernel.spec.options)
                text += option;
            if (seen.insert(std::move(text)).second)
                all.push_back({&kernel, signature, std::move(variant)});
        }
    }
    return all;
}

void compile_all(const std::vector<Program>& all, const Arch& arch, std::size_t every) {
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::vector<std::string> failures;
    const auto work = [&] {
        for (std::size_t k; (k = next.fetch_add(every)) < all.size();) {
            const Program& program = all[k];
            try {
                const CompiledKernel compiled = compile_elementwise(
                    program.kernel->spec, program.signature, program.variant, arch);
                if (compiled.binary.image.empty())
                    throw std::runtime_error("an empty binary");
            } catch (const std::exception& error) {
                const std::lock_guard lock(mutex);
                failures.push_back(program.kernel->spec.operation + "\n" + error.what());
            }
        }
    };
    std::vector<std::thread> threads;
    for (unsigned k = 0; k < std::max(1u, std::thread::hardware_concurrency()); ++k)
        threads.emplace_back(work);
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_TRUE(failures.empty()) << failures.size() << " of " << all.size()
                                  << " failed, the first:\n"
                                  << failures.front();
}

class Corpus : public testing::Test {
  protected:
    static const std::vector<CorpusKernel>& corpus() {
        static const auto kernels = read_corpus(QUERN_CORPUS);
        return kernels;
    }
};

TEST_F(Corpus, IsWorthCompiling) { EXPECT_GT(corpus().size(), 200u); }

TEST_F(Corpus, CompilesForSm90) { compile_all(programs(corpus(), Target::gpu), gpu_arch(9, 0), 1); }
TEST_F(Corpus, CompilesForSm80) { compile_all(programs(corpus(), Target::gpu), gpu_arch(8, 0), 1); }
TEST_F(Corpus, CompilesForSm100) {
    compile_all(programs(corpus(), Target::gpu), gpu_arch(10, 0), 1);
}

#if QUERN_HAS_LLVM
TEST_F(Corpus, CompilesForThisCpu) { compile_all(programs(corpus(), Target::cpu), host_arch(), 1); }
#endif

std::vector<Arch> both_toolchains() {
    std::vector<Arch> archs{gpu_arch(9, 0)};
#if QUERN_HAS_LLVM
    archs.push_back(host_arch());
#endif
    return archs;
}

std::string error_of(const ElementwiseText& text, const Arch& arch) {
    const ElementwiseSpec spec = make_elementwise_spec(text);
    std::vector<ArgType> args(spec.params.size());
    for (int k = 0; k < spec.nin; ++k)
        args[k] = {ArgType::Kind::array, DType::float32, 1, nullptr};
    const Signature signature = resolve(spec, args);
    const auto variants = corpus_variants({spec, args}, signature, arch.target);
    try {
        static_cast<void>(compile_elementwise(spec, signature, variants.front(), arch));
    } catch (const CompileError& error) {
        return error.what();
    }
    return "it compiled";
}

TEST(CompileErrors, NameTheUsersLineAndColumn) {
    for (const Arch& arch : both_toolchains()) {
        ElementwiseText text;
        text.name = "broken";
        text.in_params = "T x";
        text.out_params = "T y";
        text.operation = "T t = x;\n\ty = t + missing(x);";
        text.origin = "lesson.py:12";
        const std::string error = error_of(text, arch);
        EXPECT_NE(error.find("kernel 'broken' does not compile"), std::string::npos) << error;
        EXPECT_NE(error.find("operation, line 2, column 10: "), std::string::npos) << error;
        EXPECT_NE(error.find("       2 | \ty = t + missing(x);\n         | \t        ^\n"),
                  std::string::npos)
            << error;
        EXPECT_NE(error.find("lesson.py:12"), std::string::npos) << error;
    }
}

TEST(CompileErrors, NameThePreambleAndTheLoopTexts) {
    for (const Arch& arch : both_toolchains()) {
        ElementwiseText text;
        text.in_params = "T x";
        text.out_params = "T y";
        text.operation = "y = x";
        text.preamble = "__device__ int f() {\n  return nothing;\n}";
        EXPECT_NE(error_of(text, arch).find("preamble, line 2, column 10"), std::string::npos)
            << error_of(text, arch);
        text.preamble = "";
        text.loop_prep = "int a = absent";
        EXPECT_NE(error_of(text, arch).find("loop_prep, line 1, column 9"), std::string::npos)
            << error_of(text, arch);
    }
}

} // namespace
} // namespace quern
