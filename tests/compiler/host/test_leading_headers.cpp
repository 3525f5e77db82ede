// Images of the headers that texts begin with: made once, used while they tell the truth, and never
// at the price of another meaning. Each case opens a copy of the library, as another process would.
#include "compiler/host/leading.h"
#include "host_compiler.h"
#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <random>
#include <unistd.h>

namespace quern::test {
namespace {

namespace fs = std::filesystem;

// What the disk's cache is to the library.
struct Kept {
    std::mutex mutex;
    std::map<std::string, std::string> parts;
    int stored = 0;

    quern_cc_store door() {
        quern_cc_store store{};
        store.state = this;
        store.find = [](void* state, const char* key, void (*take)(void*, const void*, size_t),
                        void* taker) {
            auto& kept = *static_cast<Kept*>(state);
            const std::scoped_lock lock(kept.mutex);
            if (const auto found = kept.parts.find(key); found != kept.parts.end())
                take(taker, found->second.data(), found->second.size());
        };
        store.keep = [](void* state, const char* key, const void* bytes, size_t size) {
            auto& kept = *static_cast<Kept*>(state);
            const std::scoped_lock lock(kept.mutex);
            kept.parts[key].assign(static_cast<const char*>(bytes), size);
            ++kept.stored;
        };
        return store;
    }
};

struct Made {
    quern_cc_status status = QUERN_CC_CRASH;
    std::string log, object;
};

class LeadingHeaders : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "quern-leading-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
        fs::create_directory(folder_ / "toolkit");
        write("made_up.h", header);
        open_library();
    }
    void TearDown() override {
        wait_();
        fs::remove_all(folder_);
    }

    // As another process would meet it: nothing in memory.
    void open_library() {
        const auto path = folder_ / ("cc" + std::to_string(copies_++) + ".so");
        fs::copy_file(QUERN_CC_PATH, path);
        void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(library, nullptr) << dlerror();
        fs::remove(path);
        compile_ = reinterpret_cast<decltype(compile_)>(dlsym(library, "quern_cc_compile"));
        free_ = reinterpret_cast<decltype(free_)>(dlsym(library, "quern_cc_free"));
        wait_ = reinterpret_cast<decltype(wait_)>(dlsym(library, "quern_cc_wait"));
    }

    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / "toolkit" / name) << text;
    }

    Made compile(const std::string& text, std::vector<const char*> options = {}) {
        const std::string arch = this_cpu(), folder = (folder_ / "toolkit").string();
        const char* folders[] = {folder.c_str()};
        const auto store = kept_.door();
        quern_cc_request request{};
        request.abi = QUERN_CC_ABI;
        request.source = text.data();
        request.source_size = text.size();
        request.options = options.data();
        request.option_count = options.size();
        request.arch = arch.c_str();
        request.toolkit_folders = folders;
        request.toolkit_folder_count = 1;
        request.store = &store;
        auto* result = compile_(&request);
        Made made{result->status,
                  result->log,
                  {static_cast<const char*>(result->object), result->object_size}};
        free_(result);
        wait_();
        return made;
    }

    // Whether the header is read for this text, or an image stands for it: what it says is changed
    // behind the back of whoever looks at sizes and times only.
    bool is_read(const std::string& text, std::vector<const char*> options = {}) {
        const auto before = compile(text, options).object;
        const auto path = folder_ / "toolkit" / "made_up.h";
        const auto when = fs::last_write_time(path);
        std::string other = header;
        other.replace(other.find("{1,"), 3, "{9,");
        write("made_up.h", other);
        fs::last_write_time(path, when);
        const auto after = compile(text, options).object;
        write("made_up.h", header);
        fs::last_write_time(path, when);
        return before != after;
    }

    static constexpr const char* header = R"(#pragma once
#ifndef FACTOR
#define FACTOR 3
#endif
static __device__ int table[4] = {1, 2, 3, 4};
template <class T> __device__ T scaled(T x) { return x * FACTOR + table[x & 3]; }
inline __device__ int twice(int x) { return scaled(x) + scaled(x + 1); }
)";
    static constexpr const char* kernel = R"(
extern "C" __global__ void k(int* out) { out[threadIdx.x] = twice(threadIdx.x) + scaled(blockIdx.x); }
)";
    const std::string text = std::string("// first\n#include <made_up.h>\n") + kernel;

    fs::path folder_;
    Kept kept_;

  private:
    int copies_ = 0;
    decltype(&quern_cc_compile) compile_ = nullptr;
    decltype(&quern_cc_free) free_ = nullptr;
    decltype(&quern_cc_wait) wait_ = nullptr;
};

TEST_F(LeadingHeaders, AreReadOnce) {
    const auto first = compile(text);
    ASSERT_EQ(first.status, QUERN_CC_OK) << first.log;
    EXPECT_FALSE(is_read(text));
    EXPECT_EQ(compile(text).object, first.object);
    EXPECT_EQ(kept_.stored, 1);

    open_library();
    EXPECT_EQ(compile(text).object, first.object);
    EXPECT_FALSE(is_read(text));
    EXPECT_EQ(kept_.stored, 1); // what was kept was found
}

TEST_F(LeadingHeaders, MacrosThatTheyAskForAreHeard) {
    const auto plain = compile(text);
    const std::string five = "#define FACTOR 5\n" + text;
    EXPECT_TRUE(is_read(five));
    const auto before = compile(five);
    ASSERT_EQ(before.status, QUERN_CC_OK) << before.log;
    EXPECT_NE(before.object, plain.object);
    EXPECT_TRUE(is_read(text, {"-DFACTOR=5"}));
    EXPECT_EQ(compile(text, {"-DFACTOR=5"}).object, before.object);
    EXPECT_FALSE(is_read("#define N 5\n" + text, {"-DM=2"})); // they never ask for these
    EXPECT_EQ(compile("#define N 5\n" + text, {"-DM=2"}).object, plain.object);
}

TEST_F(LeadingHeaders, ChangedFilesAreReadAgain) {
    const auto old = compile(text);
    std::string changed = header;
    changed.replace(changed.find("FACTOR 3"), 8, "FACTOR 7"); // the same size
    const auto path = folder_ / "toolkit" / "made_up.h";
    const auto when = fs::last_write_time(path);
    write("made_up.h", changed);
    fs::last_write_time(path, when);
    open_library(); // the same time too: contents alone tell
    const auto now = compile(text);
    EXPECT_NE(now.object, old.object);
    EXPECT_EQ(kept_.stored, 2);
    EXPECT_EQ(compile(text).object, now.object);
    EXPECT_EQ(kept_.stored, 2);

    write("made_up.h", std::string(header) + "// longer\n"); // under a running process
    EXPECT_EQ(compile(text).object, old.object);
    EXPECT_EQ(kept_.stored, 3);
}

TEST_F(LeadingHeaders, DamagedImagesAreMadeAgain) {
    const auto good = compile(text);
    std::mt19937 random(7);
    for (int round = 0; round < 3; ++round) {
        auto& bytes = kept_.parts.begin()->second;
        if (round == 0)
            bytes.resize(bytes.size() / 2);
        else if (round == 1)
            bytes.clear();
        else
            for (int i = 0; i < 21; ++i)
                bytes[random() % bytes.size()] ^= 1;
        open_library();
        const auto first = compile(text);
        EXPECT_EQ(first.status, QUERN_CC_OK) << first.log;
        EXPECT_EQ(first.object, good.object);
        EXPECT_EQ(kept_.stored, round + 2);
        EXPECT_EQ(compile(text).object, good.object);
    }
}

// What goes wrong is told about the text, not about an image.
TEST_F(LeadingHeaders, ErrorsAreTheSame) {
    ASSERT_EQ(compile(text).status, QUERN_CC_OK);
    const std::string wrong =
        "#include <made_up.h>\nint table[3];\nextern \"C\" __global__ void k() { nothing(); }\n";
    const auto with = compile(wrong);
    kept_.parts.clear();
    open_library();
    const auto without = compile(wrong);
    EXPECT_EQ(with.status, QUERN_CC_ERROR);
    EXPECT_EQ(with.log, without.log);
    EXPECT_NE(with.log.find("nothing"), std::string::npos) << with.log;
}

TEST_F(LeadingHeaders, ThatDoNotCompileAreLeft) {
    write("made_up.h", "#pragma once\nWORD twice(int x);\n");
    const auto made = compile("typedef int WORD;\n" + text);
    EXPECT_EQ(made.status, QUERN_CC_ERROR);
    const auto first = compile("#include <made_up.h>\n"),
               second = compile("#include <made_up.h>\n");
    EXPECT_EQ(first.status, QUERN_CC_ERROR);
    EXPECT_EQ(first.log, second.log);
    EXPECT_EQ(kept_.stored, 0);
}

// The lines themselves, without Clang.
TEST(LeadingText, EndsAtTheFirstDeclaration) {
    const auto found =
        host::read_leading("/* a\n b */ #define A 1\n#include <x.h> // why\n\n"
                           "# include \"y.h\"\n#define B(x) x\nint i;\n#include <z.h>\n");
    EXPECT_EQ(found.includes, (std::vector<std::string>{"<x.h>", "\"y.h\""}));
    EXPECT_EQ(found.macros, (std::vector<std::string>{"A"}));
    EXPECT_EQ(std::ranges::count(found.rest, '\n'), 8);
    EXPECT_EQ(found.rest.find("x.h"), std::string::npos);
    EXPECT_NE(found.rest.find("#include <z.h>"), std::string::npos);
    EXPECT_NE(found.rest.find("#define B(x) x"), std::string::npos);
    for (const char* text :
         {"#if 1\n#include <x.h>\n#endif\n", "#include NAME\n", "#include <x.h> int i;\n",
          "#define A \\\n#include <x.h>\n", "// a \\\n#include <x.h>\n", "/* #include <x.h>\n",
          "#define A /*\n#include <x.h>\n*/\n", "#pragma once\n#include <x.h>\n",
          "int i; #include <x.h>"})
        EXPECT_TRUE(host::read_leading(text).includes.empty()) << text;
}

} // namespace
} // namespace quern::test
