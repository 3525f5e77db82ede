// What the pool's tests share: a pool of its own over the fake driver, and what must hold when all
// is given back.
#pragma once
#include "compiler/base/error.h"
#include "runtime/host/host_driver.h"
#include "runtime/memory/memory.h"
#include "tests/runtime/fake_driver.h"

#include <gtest/gtest.h>

#include <optional>

namespace quern {

inline constexpr std::size_t KiB = 1024, MiB = 1024 * 1024;

class PoolTest : public testing::Test {
  protected:
    void SetUp() override {
        install_drivers_for_test({&fake.driver(), &host_driver()});
        device = &find_device("cuda:0");
        pool.emplace(*device);
    }
    void TearDown() override {
        fake.stop_failing();
        pool.reset();
        if (leaked)
            return;
        EXPECT_EQ(fake.live_blocks(), 0u);
        EXPECT_EQ(fake.live_events(), 0u);
    }
    void expect_all_returned() {
        pool->free_all_blocks();
        EXPECT_EQ(pool->used_bytes(), 0u);
        EXPECT_EQ(pool->total_bytes(), 0u);
        EXPECT_EQ(pool->free_bytes(), 0u);
        EXPECT_EQ(pool->free_block_count(), 0u);
        EXPECT_EQ(fake.live_blocks(), 0u);
    }

    FakeDriver fake;
    Device* device = nullptr;
    std::optional<MemoryPool> pool;
    bool leaked = false; // the test left something on purpose
};

} // namespace quern
