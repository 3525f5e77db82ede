// The search: what is found, what is said when nothing is, and which build a file is.
#include "compiler/base/library.h"

#include <filesystem>
#include <fstream>
#include <set>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace quern {
namespace {

namespace fs = std::filesystem;

TEST(Library, UnknownNamesAreEmpty) {
    EXPECT_FALSE(load_library("no such library"));
    EXPECT_EQ(find_library("no such library"), "");
    EXPECT_EQ(load_library("nope").symbol("f"), nullptr);
    EXPECT_EQ(Library().symbol("f"), nullptr);
}

TEST(Library, SurveyNamesEverythingWithARemedyOrAVersion) {
    std::set<std::string> names;
    for (const LibraryFinding& finding : survey_libraries()) {
        names.insert(finding.name);
        EXPECT_FALSE(finding.tried.empty()) << finding.name;
        EXPECT_EQ(finding.path.empty(), finding.version.empty())
            << finding.name << " " << finding.path;
        EXPECT_FALSE(finding.path.empty() && finding.remedy.empty()) << finding.name;
    }
    EXPECT_EQ(names, (std::set<std::string>{"cuda", "nvrtc", "nvjitlink", "cublas", "cublasLt",
                                            "cusolver", "cufft", "curand", "cusparse", "nccl",
                                            "cuda headers", "quern_cc"}));
}

TEST(Library, FindAndLoadAgree) {
    const std::string path = find_library("nvrtc");
    if (path.empty())
        GTEST_SKIP() << "no NVRTC on this machine";
    const Library library = load_library("nvrtc");
    ASSERT_TRUE(library);
    EXPECT_TRUE(fs::equivalent(library.path(), path)) << library.path() << " " << path;
    EXPECT_NE(library.symbol("nvrtcVersion"), nullptr);
    EXPECT_EQ(library.symbol("nvrtcNoSuchFunction"), nullptr);
    EXPECT_NE(survey_library("nvrtc").version, "");
}

TEST(Library, HeadersLieWhereTheyAreSaidToLie) {
    const auto folders = cuda_include_folders();
    if (folders.empty())
        GTEST_SKIP() << "no CUDA headers on this machine";
    EXPECT_TRUE(fs::exists(folders[0] + "/cuda_fp16.h"));
}

TEST(Library, BrokenFilesInPackageFoldersAreStepsNotStops) {
    const fs::path folder =
        fs::temp_directory_path() / ("quern_library_" + std::to_string(::getpid()));
    fs::create_directories(folder / "lib");
    std::ofstream(folder / "lib/libcufft.so.12") << "not a library";
    const auto before = package_folders();
    set_package_folders({folder.string()});
    const LibraryFinding finding = survey_library("cufft");
    ASSERT_GE(finding.tried.size(), 1U);
    EXPECT_NE(finding.tried[0].find("libcufft.so.12: "), std::string::npos) << finding.tried[0];
    set_package_folders(before);
    fs::remove_all(folder);
}

TEST(BuildId, TellsFilesApart) {
    Dl_info info{};
    ASSERT_NE(dladdr(reinterpret_cast<void*>(&dlopen), &info),
              0); // libc: has a build id everywhere
    const std::string libc = library_build_id(info.dli_fname);
    EXPECT_EQ(libc.size(), 40U) << libc;
    EXPECT_EQ(libc.find_first_not_of("0123456789abcdef"), std::string::npos);

    const fs::path file =
        fs::temp_directory_path() / ("quern_build_id_" + std::to_string(::getpid()));
    std::ofstream(file) << "not an ELF file";
    const std::string first = library_build_id(file);
    EXPECT_NE(first, "");
    std::ofstream(file) << "not an ELF file either";
    EXPECT_NE(library_build_id(file), first);
    std::ofstream(file, std::ios::binary) << "\x7f"
                                             "ELF\x02"
                                          << std::string(300, '\xff');
    EXPECT_NE(library_build_id(file), "") << "damaged headers are not followed";
    fs::remove(file);
    EXPECT_EQ(library_build_id(file), "");
}

} // namespace
} // namespace quern
