// The built-in headers, precompiled: shipped inside the library for the usual language standards,
// made on first use for the others.
#include "compiler/host/precompiled.h"
#include "compiler/host/prelude_image.h"
#include "compiler/host/session.h"
#include "compiler/host/write_image.h"
#include <llvm/Support/CrashRecoveryContext.h>
#include <map>
#include <mutex>

namespace quern::host {
namespace {

constexpr std::string_view with_short_floats = "-short";

// For the plainest x86-64: functions get the real CPU when a program is compiled with the image.
bool precompile(std::string_view name, std::string& image, std::string& log) {
    Session session(log);
    const bool all = name.ends_with(with_short_floats);
    if (all)
        name.remove_suffix(with_short_floats.size());
    auto words = base_arguments(std::string(name), Cpu{"x86-64", {}});
    parse_whole_templates(words);
    words.emplace_back("-emit-pch");
    words.emplace_back(all ? "/quern/builtins_short.cuh" : "/quern/builtins.cuh");
    if (!session.open(words, make_files()))
        return false;
    return write_image(*session.instance, image);
}

} // namespace

// A guess by the text: where a folder's file is the one to include them, they are read anew, which
// takes longer and gives the same. So are they when operators or conversions are to be left out.
std::string image_name(const FrontEndInput& input) {
    const bool prelude = are_the_prelude(input.headers); // which includes none of these
    const auto has_any = [&](std::initializer_list<const char*> words) {
        const auto in = [&](std::string_view text) {
            return std::any_of(words.begin(), words.end(),
                               [&](const char* word) { return text.find(word) != text.npos; });
        };
        return in(input.main.text) || in(input.options->preamble) ||
               (!prelude && std::any_of(input.headers.begin(), input.headers.end(),
                                        [&](const SourceFile& file) { return in(file.text); }));
    };
    const bool found = has_any({"<cuda_fp16.h", "\"cuda_fp16.h", "<cuda_bf16.h", "\"cuda_bf16.h",
                                // libraries that ask for both
                                "<cuda/", "<cub/", "<thrust/", "<curand_", "\"curand_"}) &&
                       !has_any({"__CUDA_NO_HALF", "__CUDA_NO_BFLOAT16"});
    return input.options->standard + std::string(found ? with_short_floats : "");
}

std::string_view find_precompiled(const std::string& name, std::string& log) {
    for (const auto& image : shipped_images())
        if (image.name == name)
            return image.bytes;
    struct Image {
        std::mutex building;
        std::string bytes;
    };
    static std::mutex guard;
    static std::map<std::string, Image> images;
    Image* image;
    {
        std::scoped_lock lock(guard);
        image = &images[name];
    }
    std::scoped_lock lock(image->building);
    if (image->bytes.empty()) {
        bool built = false;
        llvm::CrashRecoveryContext
            recovery; // inside the lock, so that a crash cannot leave it held
        if (!recovery.RunSafely([&] { built = precompile(name, image->bytes, log); }) || !built) {
            image->bytes.clear();
            log += "error: quern's own device headers do not compile\n";
            return {};
        }
    }
    return image->bytes;
}

} // namespace quern::host
