// What a program includes, and which files that means.
#include "compiler/backend/includes.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace quern {
namespace {

using Names = std::vector<std::string>;

TEST(Includes, NamesInOrderOnce) {
    EXPECT_EQ(
        included_names(
            "#include <a.h>\n  #  include \"b/c.h\"\nint x;\n#include <a.h>\n#define include\n"),
        (Names{"a.h", "b/c.h"}));
    EXPECT_EQ(included_names("int x = '#';\n#include MACRO\n#include \"open\n"), Names{});
    EXPECT_EQ(included_names("#include <last>"), Names{"last"});
    EXPECT_EQ(included_names(""), Names{});
}

TEST(Includes, ForeignAreThoseNotBroughtAlong) {
    CompileRequest request{.name = "k",
                           .source = "#include \"in.h\"\n#include <cuda_fp16.h>\n",
                           .headers = {},
                           .options = {},
                           .name_expressions = {},
                           .arch = {}};
    request.headers = {{"in.h", "#include <math_constants.h>\n"},
                       {"unused.h", "#include <cub/cub.cuh>\n"}};
    EXPECT_EQ(foreign_includes(request), (Names{"cuda_fp16.h", "math_constants.h"}));
}

TEST(Includes, FilesBehindIncludeFoldersAreReadThroughAndThrough) {
    namespace fs = std::filesystem;
    const fs::path folder =
        fs::temp_directory_path() / ("quern_includes_" + std::to_string(getpid()));
    fs::create_directories(folder / "sub");
    std::ofstream(folder / "one.h") << "#include \"sub/two.h\"\n";
    std::ofstream(folder / "sub/two.h") << "#include \"three.h\"\n#include \"../one.h\"\n";
    std::ofstream(folder / "sub/three.h") << "int three;\n";
    CompileRequest request{.name = "k",
                           .source = "#include <one.h>\n",
                           .headers = {},
                           .options = {},
                           .name_expressions = {},
                           .arch = {}};
    for (const Names& options : {Names{"-I" + folder.string()}, Names{"-I", folder.string()},
                                 Names{"--include-path=" + folder.string()}}) {
        request.options = options;
        const auto files = read_included(request);
        std::string all;
        for (const SourceFile& file : files)
            all += file.text;
        EXPECT_NE(all.find("int three;"), std::string::npos);
    }
    request.options.clear();
    const auto none = read_included(request);
    ASSERT_EQ(none.size(), 1U); // not found: the toolkit's, or an error
    EXPECT_EQ(none[0].name, "<cuda headers>");
    request.source = "int x;";
    EXPECT_TRUE(read_included(request).empty());
    fs::remove_all(folder);
}

TEST(Includes, MissingHeadersNameWhatBringsThem) {
    for (const char* log :
         {"k.cu:1:10: fatal error: 'cub/cub.cuh' file not found\n  #include",
          "k.cu(1): catastrophic error: cannot open source file \"cub/cub.cuh\"\n",
          "k.cu(1): error: could not open source file \"cub/cub.cuh\" (no dir)"}) {
        const std::string told = with_header_remedies(log);
        EXPECT_TRUE(told.starts_with(log));
        EXPECT_NE(told.find("cub/cub.cuh was not found: pip install nvidia-cuda-cccl"),
                  std::string::npos)
            << told;
    }
    const std::string own = "k.cu:1:10: fatal error: 'mine.h' file not found";
    EXPECT_EQ(with_header_remedies(own), own);
}

} // namespace
} // namespace quern
