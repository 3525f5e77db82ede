// Tests that compile: a kernel cache of their own, gone afterwards, and the host compiler that was
// just built.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <unistd.h>

namespace quern {

class PrivateCache : public testing::Environment {
  public:
    PrivateCache()
        : folder_(std::filesystem::temp_directory_path() /
                  ("quern-test-" + std::to_string(getpid()))) {
        setenv("QUERN_CACHE_DIR", folder_.c_str(), 1);
#ifdef QUERN_CC_FILE
        setenv("QUERN_CC_LIBRARY", QUERN_CC_FILE, 0);
#endif
    }
    void TearDown() override {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

  private:
    std::filesystem::path folder_;
};

} // namespace quern
