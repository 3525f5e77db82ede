// LLVM's own pipeline at O2, with glibc's vector mathematics known to the vectoriser, and the
// object at its end.
#include "compiler/host/ahead.h"
#include "compiler/host/invariant.h"
#include "compiler/host/own_atomics.h"
#include "compiler/host/passes.h"
#include "compiler/host/seldom.h"
#include "compiler/host/short_floats.h"
#include "compiler/host/streams.h"
#include "compiler/host/vectors_first.h"
#include "compiler/host/whole_loads.h"
#include "compiler/host/widest.h"
#include "compiler/host/wraps.h"
#include <deque>
#include <dlfcn.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/Scalarizer.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <map>
#include <mutex>

namespace quern::host {
namespace {

// One row per function of libmvec; the library itself says which of them this system has.
struct VectorName {
    const char* name;
    int operands;
    bool intrinsic; // also spelled llvm.NAME.f32
};
constexpr VectorName vector_names[] = {
    {"sin", 1, true},    {"cos", 1, true},    {"tan", 1, true},    {"exp", 1, true},
    {"log", 1, true},    {"pow", 2, true},    {"exp2", 1, true},   {"exp10", 1, true},
    {"log2", 1, true},   {"log10", 1, true},  {"asin", 1, true},   {"acos", 1, true},
    {"atan", 1, true},   {"sinh", 1, true},   {"cosh", 1, true},   {"tanh", 1, true},
    {"asinh", 1, false}, {"acosh", 1, false}, {"atanh", 1, false}, {"atan2", 2, false},
    {"cbrt", 1, false},  {"erf", 1, false},   {"erfc", 1, false},  {"expm1", 1, false},
    {"log1p", 1, false}, {"hypot", 2, false},
};

// A width of registers, its letter in libmvec's names, and the feature of a CPU that it is for.
struct VectorShape {
    unsigned bits;
    char letter;
    const char* feature;
};
constexpr VectorShape vector_shapes[] = {
    {128, 'b', ""}, {256, 'd', "avx2"}, {512, 'e', widest_feature}};

struct VectorTable {
    std::deque<std::string> texts; // VecDesc looks at these: they must not move
    std::vector<llvm::VecDesc> rows[std::size(vector_shapes)];

    VectorTable() {
        void* library = dlopen("libmvec.so.1", RTLD_LAZY | RTLD_LOCAL);
        for (const auto& row : vector_names)
            for (bool single : {false, true}) {
                const std::string base = std::string(row.name) + (single ? "f" : "");
                const std::string spelled =
                    std::string("llvm.") + row.name + (single ? ".f32" : ".f64");
                for (std::size_t i = 0; i < std::size(vector_shapes); ++i) {
                    const auto& [bits, letter, feature] = vector_shapes[i];
                    const unsigned lanes = bits / (single ? 32 : 64);
                    const std::string shape =
                        std::to_string(lanes) + std::string(row.operands, 'v');
                    const std::string symbol =
                        std::string("_ZGV") + letter + "N" + shape + "_" + base;
                    if (!library || !dlsym(library, symbol.c_str()))
                        continue;
                    auto& table = rows[i];
                    const auto add = [&](const std::string& scalar) {
                        const auto keep = [&](std::string text) -> llvm::StringRef {
                            return texts.emplace_back(std::move(text));
                        };
                        const auto from = keep(scalar), to = keep(symbol),
                                   abi = keep("_ZGV_LLVM_N" + shape);
                        table.emplace_back(from, to, llvm::ElementCount::getFixed(lanes), false,
                                           abi);
                    };
                    add(base);
                    if (row.intrinsic)
                        add(spelled);
                }
            }
    }
};

const VectorTable& vector_table() {
    static const VectorTable table;
    return table;
}

llvm::TargetLibraryInfoImpl library_of(const llvm::Module& module, const Cpu& cpu) {
    llvm::TargetLibraryInfoImpl library{llvm::Triple(module.getTargetTriple())};
    for (std::size_t i = 0; i < std::size(vector_shapes); ++i)
        if (!*vector_shapes[i].feature || cpu.has(vector_shapes[i].feature))
            library.addVectorizableFunctions(vector_table().rows[i]);
    return library;
}

// A call of libmvec keeps nothing in registers: of several vectors in flight all but one would lie
// on the stack, unaligned. Loops that will call it take one at a time.
struct CallsOneAtATime : llvm::PassInfoMixin<CallsOneAtATime> {
    static llvm::PreservedAnalyses run(llvm::Function& function,
                                       llvm::FunctionAnalysisManager& analyses) {
        const auto& library = analyses.getResult<llvm::TargetLibraryAnalysis>(function);
        for (auto* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder())
            if (loop->isInnermost() && calls_vectors(*loop, library))
                llvm::addStringMetadataToLoop(loop, "llvm.loop.interleave.count", 1);
        return llvm::PreservedAnalyses::all();
    }
    static bool calls_vectors(const llvm::Loop& loop, const llvm::TargetLibraryInfo& library) {
        for (const auto* block : loop.blocks())
            for (const auto& instruction : *block)
                if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
                    call && call->getCalledFunction() &&
                    !has_own_lanes(call->getCalledFunction()->getName()) &&
                    library.isFunctionVectorizable(call->getCalledFunction()->getName()))
                    return true;
        return false;
    }
};

// A small structure goes by value as a short vector: <2 x float> for complex<float>. The loop
// vectoriser takes no loop with vectors in it, so they are taken apart first: not where a function
// is written in vectors as wide as registers.
struct TakeApart : llvm::PassInfoMixin<TakeApart> {
    static llvm::PreservedAnalyses run(llvm::Function& function,
                                       llvm::FunctionAnalysisManager& analyses) {
        constexpr unsigned register_bits = 256;
        for (const auto& instruction : llvm::instructions(function))
            if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(instruction.getType());
                vector && vector->getPrimitiveSizeInBits() >= register_bits)
                return llvm::PreservedAnalyses::all();
        llvm::ScalarizerPassOptions options;
        options.ScalarizeLoadStore = true;
        return llvm::ScalarizerPass(options).run(function, analyses);
    }
};

// What one thread does stands in every lane there: pairs for the other vectoriser are hard to find,
// and it looks for them long. Functions that will be widened must have none.
bool has_vectorised_loop(const llvm::Function& function) {
    for (const auto& block : function)
        if (auto* facts = block.getTerminator()->getMetadata(llvm::LLVMContext::MD_loop);
            facts && llvm::findOptionMDForLoopID(facts, "llvm.loop.isvectorized"))
            return true;
    return false;
}

void open_target() {
    static std::once_flag once;
    std::call_once(once, [] {
        LLVMInitializeX86TargetInfo();
        LLVMInitializeX86Target();
        LLVMInitializeX86TargetMC();
        LLVMInitializeX86AsmPrinter();
        LLVMInitializeX86AsmParser();
    });
}

std::unique_ptr<llvm::TargetMachine> make_machine(const Cpu& cpu, std::string& log) {
    const std::string triple = "x86_64-unknown-linux-gnu";
    const auto* target = llvm::TargetRegistry::lookupTarget(triple, log);
    if (!target)
        return nullptr;
    const std::unique_ptr<llvm::MCSubtargetInfo> known(
        target->createMCSubtargetInfo(triple, "", ""));
    if (!known->isCPUStringValid(cpu.name)) { // LLVM itself would complain on stderr and go on
        log += "error: arch '" + cpu.name + "': LLVM knows no such x86-64 CPU\n";
        return nullptr;
    }
    std::string features;
    for (const auto& feature : cpu.features) {
        const auto all = known->getAllProcessorFeatures();
        if (std::none_of(all.begin(), all.end(),
                         [&](const auto& row) { return feature.substr(1) == row.Key; })) {
            log += "error: arch: LLVM knows no x86-64 feature '" + feature + "'\n";
            return nullptr;
        }
        features += (features.empty() ? "" : ",") + feature;
    }
    llvm::TargetOptions options;
    options.AllowFPOpFusion =
        llvm::FPOpFusion::Standard; // fuse where the IR's flags allow it, nowhere else
    std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
        triple, cpu.name, features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small));
    return machine;
}

// The code generator reduces strengths in loops: a tenth to a third of a compilation. x86 addresses
// hold all that vectorised loops ask for; scalar ones with several strides gain up to a third. A
// loop that calls a function (rows that are filled or copied among them), or whose author forbids
// to vectorise and to unroll it, is not worth it either.
bool calls_function(const llvm::Loop& loop) {
    for (const auto* block : loop.blocks())
        for (const auto& instruction : *block)
            if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
                call &&
                (llvm::isa<llvm::MemIntrinsic>(call) ||
                 (call->getCalledFunction() && !call->getCalledFunction()->isDeclaration())))
                return true;
    return false;
}

// A short loop that was vectorised and then unrolled leaves its vectors to the loop around it.
bool loads_vectors(const llvm::Loop& loop) {
    for (const auto* block : loop.blocks())
        for (const auto& instruction : *block)
            if (llvm::isa<llvm::LoadInst>(instruction) && instruction.getType()->isVectorTy())
                return true;
    return false;
}

bool is_served(const llvm::Loop& loop) {
    return llvm::getBooleanLoopAttribute(&loop, "llvm.loop.isvectorized") || calls_function(loop) ||
           loads_vectors(loop) ||
           (llvm::getOptionalIntLoopAttribute(&loop, "llvm.loop.vectorize.width") == 1 &&
            llvm::getBooleanLoopAttribute(&loop, "llvm.loop.unroll.disable"));
}

bool needs_reduction(llvm::Module& module) {
    for (auto& function : module) {
        if (function.isDeclaration())
            continue;
        const llvm::DominatorTree tree(function);
        const llvm::LoopInfo loops(tree);
        for (const auto* loop : loops.getLoopsInPreorder())
            if (loop->isInnermost() && !is_served(*loop))
                return true;
    }
    return false;
}

// What the code generator may leave out. The selection of instructions stays what it is: it fuses
// products and sums, so results depend on it.
class EmissionGate final : public llvm::OptPassGate {
  public:
    explicit EmissionGate(const Program& program) : program_(program) {}
    bool isEnabled() const override { return true; }
#if LLVM_VERSION_MAJOR >= 21
    bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const override {
        return is_wanted(pass);
    }
#else
    bool shouldRunPass(const llvm::StringRef pass, llvm::StringRef) override {
        return is_wanted(pass);
    }
#endif

  private:
    bool is_wanted(llvm::StringRef pass) const {
        if ((pass == "Loop Strength Reduction" ||
             pass == "Canonicalize Freeze Instructions in Loops") && // for it
            !program_.needs_reduction)
            return false;
        // Looks for chains of integers that could live in AVX-512's masks. Its time grows with the
        // square of a function: a third of what large ones took.
        if (pass == "X86 Domain Reassignment Pass")
            return false;
        return pass.contains("Instruction Selection") || !program_.budget.is_spent();
    }
    const Program& program_;
};

// A machine knows each subtarget it met; to make one anew costs a millisecond. Never destroyed:
// threads may still compile while the process ends.
struct Shelf {
    std::mutex guard;
    std::multimap<std::string, std::unique_ptr<llvm::TargetMachine>> machines;
};
Shelf& shelf() {
    static auto* const once = new Shelf;
    return *once;
}

std::string shelf_name(const Cpu& cpu) {
    std::string name = cpu.name;
    for (const auto& feature : cpu.features)
        name += feature;
    return name;
}

} // namespace

std::unique_ptr<llvm::TargetMachine> take_machine(const Cpu& cpu, std::string& log) {
    open_target();
    {
        const std::scoped_lock lock(shelf().guard);
        if (auto found = shelf().machines.extract(shelf_name(cpu)))
            return std::move(found.mapped());
    }
    return make_machine(cpu, log);
}

void return_machine(const Cpu& cpu, std::unique_ptr<llvm::TargetMachine> machine) {
    constexpr std::size_t room = 16;
    const std::scoped_lock lock(shelf().guard);
    if (shelf().machines.size() < room)
        shelf().machines.emplace(shelf_name(cpu), std::move(machine));
}

static llvm::OptimizationLevel level_for(const Program& program) {
    const auto& kernels = program.kernels;
    if (program.level == Level::plain ||
        std::all_of(kernels.begin(), kernels.end(),
                    [](const Kernel& kernel) { return kernel.waits && !kernel.in_regions; }))
        return llvm::OptimizationLevel::O1;
    return std::any_of(kernels.begin(), kernels.end(),
                       [](const Kernel& kernel) { return kernel.in_regions; })
               ? llvm::OptimizationLevel::O3 // takes branches that all agree on out of loops
               : llvm::OptimizationLevel::O2;
}

// Elements a step apart come faster by loads and shuffles, or one by one, than by the instruction
// that gathers them: on AMD's cores it is a loop of its own, on Intel's one since 2023's mends.
static void keep_from_gathers(llvm::Function& function) {
    constexpr const char* name = "target-features";
    llvm::StringRef given = function.getFnAttribute(name).getValueAsString();
    function.addFnAttr(
        name, (given + (given.empty() ? "" : ",") + "+prefer-no-gather,+prefer-no-scatter").str());
}

void optimise(Program& program, llvm::TargetMachine& machine, const Cpu& cpu) {
    auto& module = *program.module;
    const auto level = level_for(program);
    const bool quick = level == llvm::OptimizationLevel::O1;
    program.optimised_at = level.getSpeedupLevel();
    const SeldomFunctions seldom(module);
    describe_read_ahead(module);
    tell_vector_bytes(module, cpu);
    llvm::PassInstrumentationCallbacks before_passes;
    before_passes.registerShouldRunOptionalPassCallback([&](llvm::StringRef pass, llvm::Any code) {
        if (const auto* function = llvm::any_cast<const llvm::Function*>(&code);
            function && pass == "SLPVectorizerPass" &&
            (has_vectorised_loop(**function) || has_own_lanes((*function)->getName())))
            return false;
        return !program.budget.is_spent();
    });
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager graph;
    llvm::ModuleAnalysisManager modules;
    llvm::PipelineTuningOptions tuning;
    tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopInterleaving = !quick;
    llvm::PassBuilder builder(&machine, tuning, std::nullopt, &before_passes);
    builder.registerPeepholeEPCallback(
        [](llvm::FunctionPassManager& passes, auto&&...) { passes.addPass(TellInvariant(false)); });
    builder.registerVectorizerStartEPCallback(
        [=](llvm::FunctionPassManager& passes, llvm::OptimizationLevel) {
            passes.addPass(TellInvariant(true));
            if (!quick) { // there are vectors
                passes.addPass(ReleaseToUnroll());
                passes.addPass(CutAtWraps());
                if (cpu.has("f16c") && !cpu.has("avx512fp16"))
                    passes.addPass(HalvesLikeFloats{{}, widest_vector_bits(cpu)});
            }
            passes.addPass(TakeApart());
            passes.addPass(CallsOneAtATime());
        });
    if (!quick)
        builder.registerOptimizerEarlyEPCallback(
            [](llvm::ModulePassManager& passes, auto&&...) { passes.addPass(NarrowStreams()); });
    builder.registerOptimizerLastEPCallback(
        [&](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
            if (!seldom.empty()) {
                passes.addPass(WriteSeldomFunctions(cpu));
                passes.addPass(llvm::AlwaysInlinerPass(true));
            }
            passes.addPass(llvm::createModuleToFunctionPassAdaptor(PlainOwnAtomics()));
            const bool avx512 = cpu.has("avx512vl");
            passes.addPass(llvm::createModuleToFunctionPassAdaptor(
                ReadAhead{{}, avx512 ? most_lines_ahead : most_lines_ahead_before_avx512}));
            if (avx512)
                passes.addPass(llvm::createModuleToFunctionPassAdaptor(LoadWhole()));
            if (!cpu.has("avx512fp16"))
                passes.addPass(llvm::createModuleToFunctionPassAdaptor(WorkInFloat()));
        });
    auto library = library_of(module, cpu);
    seldom.add_to(library);
    functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(graph);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, graph, modules);
    for (auto& function : module)
        if (!function.isDeclaration()) {
            if (cpu.has(widest_feature))
                function.addFnAttr(vector_width, "512");
            keep_from_gathers(function);
        }
    llvm::ModulePassManager passes;
    passes.addPass(llvm::AlwaysInlinerPass(true));
    if (!quick) {
        passes.addPass(llvm::createModuleToFunctionPassAdaptor(KeepForVectors()));
        // before anything sinks what lift.cpp lifted
        passes.addPass(llvm::createModuleToFunctionPassAdaptor(
            llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                  /*UseMemorySSA=*/true)));
    }
    passes.addPass(builder.buildPerModuleDefaultPipeline(level));
    passes.run(module, modules);
    program.needs_reduction = needs_reduction(module);
}

bool emit_object(const Program& program, llvm::TargetMachine& machine, const Cpu& cpu,
                 llvm::SmallVectorImpl<char>& object) {
    auto& module = *program.module;
    auto& context = module.getContext();
    EmissionGate gate(program);
    context.setOptPassGate(gate);
    llvm::raw_svector_ostream stream(object);
    llvm::legacy::PassManager passes;
    passes.add(new llvm::TargetLibraryInfoWrapperPass(library_of(module, cpu)));
    if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
        return false;
    passes.run(module);
    context.setOptPassGate(llvm::getGlobalPassGate());
    return true;
}

} // namespace quern::host
