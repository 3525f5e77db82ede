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
        if (finding.name != "blas" && finding.name != "nvtx") { // which need not tell a version
            EXPECT_EQ(finding.path.empty(), finding.version.empty())
                << finding.name << " " << finding.path;
        }
        EXPECT_FALSE(finding.path.empty() && finding.remedy.empty()) << finding.name;
    }
    EXPECT_EQ(names, (std::set<std::string>{"cuda", "nvrtc", "nvjitlink", "cublas", "cublasLt",
                                            "cusolver", "cufft", "curand", "cusparse", "nccl",
                                            "cuda headers", "nvtx", "blas", "quern_cc"}));
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
    for (const std::string& folder : folders)
        EXPECT_TRUE(fs::exists(folder + "/cuda_fp16.h") ||
                    fs::exists(folder + "/cuda/std/version") ||
                    fs::exists(folder + "/curand_kernel.h"))
            << folder;
}

// As pip lays them out for CUDA 12: a folder per package; for a part that is there twice the first
// one counts.
TEST(Library, HeadersComeInPartsFromSeveralFolders) {
    const fs::path root =
        fs::temp_directory_path() / ("quern_headers_" + std::to_string(::getpid()));
    const auto touch = [&](const char* file) {
        fs::create_directories((root / file).parent_path());
        std::ofstream(root / file) << "\n";
    };
    touch("cuda_runtime/include/cuda_fp16.h");
    touch("cuda_cccl/include/cuda/std/version");
    touch("cublas/include/cublas.h");
    touch("cu13/include/cuda_fp16.h");
    touch("cu13/include/cccl/cuda/std/version");
    touch("curand/include/curand_kernel.h");
    const auto before = package_folders();
    std::vector<std::string> packages;
    for (const char* name : {"cublas", "cuda_cccl", "cuda_runtime", "cu13", "curand"})
        packages.push_back((root / name).string());
    set_package_folders(packages);
    const auto folders = cuda_include_folders();
    set_package_folders({packages[3]});
    const auto fewer = cuda_include_folders();
    set_package_folders(before);
    fs::remove_all(root);
    EXPECT_EQ(folders, (std::vector{packages[1] + "/include", packages[2] + "/include",
                                    packages[4] + "/include"}));
    ASSERT_GE(fewer.size(), 2U);
    EXPECT_EQ(fewer[0], packages[3] + "/include");
    EXPECT_EQ(fewer[1], packages[3] + "/include/cccl");
}

TEST(Library, HeadersNameTheirPackage) {
    EXPECT_NE(header_remedy("curand_kernel.h").find("nvidia-curand"), std::string::npos);
    EXPECT_NE(header_remedy("cub/block/block_scan.cuh").find("nvidia-cuda-cccl-cu12"),
              std::string::npos);
    EXPECT_NE(header_remedy("cuda_fp8.h").find("nvidia-cuda-runtime"), std::string::npos);
    EXPECT_EQ(header_remedy("custom.h"), "");
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
