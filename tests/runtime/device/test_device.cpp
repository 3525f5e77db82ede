// Devices by name, the current one of each thread, contexts that others change, and fork.
#include "compiler/base/error.h"
#include "runtime/device/device.h"
#include "runtime/host/host_driver.h"
#include "tests/runtime/fake_driver.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace quern {
namespace {

class Devices : public testing::Test {
  protected:
    void SetUp() override { install_drivers_for_test({&fake.driver(), &host_driver()}); }
    FakeDriver fake{2};
};

template <class Call> std::string error_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

// What `body` returns in a forked child.
template <class Body> int in_child(Body body) {
    const pid_t child = fork();
    if (child == 0)
        _exit(body());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Devices, NamesTouchNoContext) {
    EXPECT_EQ(device_names(), (std::vector<std::string>{"cuda:0", "cuda:1", "cpu"}));
    EXPECT_EQ(fake.count("cuDevicePrimaryCtxRetain"), 0u);
}

TEST_F(Devices, AreMadeOnceAndFoundByName) {
    Device& first = find_device("cuda");
    EXPECT_EQ(&first, &find_device("cuda:0"));
    EXPECT_NE(&first, &find_device("cuda:1"));
    EXPECT_EQ(first.name(), "cuda:0");
    EXPECT_EQ(first.arch().name, "sm_90");
    EXPECT_EQ(first.properties().multiprocessors, 132);
    EXPECT_EQ(fake.context_references(0), 1);
    EXPECT_FALSE(first.is_cpu());
    EXPECT_TRUE(find_device("cpu").is_cpu());
    EXPECT_EQ(find_device("cpu").arch().target, Target::cpu);
    EXPECT_NE(first.index(), find_device("cpu").index());
}

TEST_F(Devices, UnknownNamesAreRefusedWithTheKnownOnes) {
    EXPECT_EQ(error_of([] { (void)find_device("cuda:2"); }),
              "there is no device 'cuda:2': this machine has cuda:0, cuda:1, cpu");
    for (const char* name :
         {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:0x", "cuda:99999999999"})
        EXPECT_NE(error_of([&] { (void)find_device(name); }).find("cuda:0, cuda:1, cpu"),
                  std::string::npos)
            << name;
}

TEST_F(Devices, WithoutAGpuThereIsTheCpu) {
    install_drivers_for_test({&host_driver()});
    EXPECT_EQ(device_names(), std::vector<std::string>{"cpu"});
    EXPECT_NE(error_of([] { (void)find_device("cuda"); }).find("this machine has cpu"),
              std::string::npos);
    if (std::getenv("QUERN_DEVICE") == nullptr) {
        EXPECT_EQ(current_device().name(), "cpu");
    }
}

TEST_F(Devices, EachThreadHasItsOwnCurrentDevice) {
    set_current_device(find_device("cuda:1"));
    EXPECT_EQ(current_device().name(), "cuda:1");
    std::thread([] {
        if (std::getenv("QUERN_DEVICE") == nullptr) {
            EXPECT_EQ(current_device().name(), "cuda:0");
        }
        set_current_device(find_device("cpu"));
    }).join();
    EXPECT_EQ(current_device().name(), "cuda:1");
    {
        const DeviceGuard guard(find_device("cuda:0"));
        EXPECT_EQ(current_device().name(), "cuda:0");
        const DeviceGuard inner(find_device("cpu"));
        EXPECT_EQ(current_device().name(), "cpu");
    }
    EXPECT_EQ(current_device().name(), "cuda:1");
}

TEST_F(Devices, ContextsThatOthersChangeAreSetAgain) {
    const DriverApi& api = fake.driver().api;
    Device &a = find_device("cuda:0"), &b = find_device("cuda:1");
    a.make_current();
    fake.forget_calls();
    a.make_current();
    EXPECT_EQ(fake.count("cuCtxSetCurrent"), 0u);
    api.cuCtxSetCurrent(b.context()); // another library
    a.make_current();
    CUcontext now = nullptr;
    api.cuCtxGetCurrent(&now);
    EXPECT_EQ(now, a.context());
    {
        const ContextScope scope(b);
        api.cuCtxGetCurrent(&now);
        EXPECT_TRUE(scope.ok());
        EXPECT_EQ(now, b.context());
    }
    api.cuCtxGetCurrent(&now);
    EXPECT_EQ(now, a.context());
}

TEST_F(Devices, AFailedStartLeavesNothingBehind) {
    fake.fail("cuDevicePrimaryCtxRetain", 1, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_THROW((void)find_device("cuda:0"), DriverError);
    EXPECT_EQ(find_device("cuda:0").name(), "cuda:0");
    EXPECT_EQ(fake.context_references(0), 1);
}

TEST_F(Devices, ManyThreadsMakeOneDevice) {
    std::vector<std::thread> threads;
    std::vector<Device*> found(8);
    for (std::size_t k = 0; k < found.size(); ++k)
        threads.emplace_back([&, k] { found[k] = &find_device("cuda:1"); });
    for (std::thread& thread : threads)
        thread.join();
    for (Device* device : found)
        EXPECT_EQ(device, found[0]);
    EXPECT_EQ(fake.context_references(1), 1);
}

TEST_F(Devices, AForkBeforeFirstUseIsFine) {
    EXPECT_EQ(in_child([] { return find_device("cuda:0").name() == "cuda:0" ? 7 : 1; }), 7);
}

TEST_F(Devices, AForkAfterwardsSaysWhatToDo) {
    Device& device = find_device("cuda:0");
    set_current_device(device);
    const int answer = in_child([&] {
        const std::string expected = "use multiprocessing's 'spawn' or 'forkserver' start method";
        const auto told = [&](auto call) {
            return error_of(call).find(expected) != std::string::npos;
        };
        if (!told([] { (void)current_device(); }))
            return 1;
        if (!told([] { (void)find_device("cuda:1"); }))
            return 2;
        if (!told([&] { device.make_current(); }))
            return 3;
        if (!told([] { (void)current_device(); }))
            return 4; // not only the first time
        if (find_device("cpu").name() != "cpu")
            return 5;
        set_current_device(find_device("cpu"));
        return current_device().is_cpu() ? 7 : 6;
    });
    EXPECT_EQ(answer, 7);
    EXPECT_EQ(current_device().name(), "cuda:0"); // the parent goes on
}

TEST_F(Devices, TheCpuSurvivesAFork) {
    install_drivers_for_test({&host_driver()});
    set_current_device(find_device("cpu"));
    EXPECT_EQ(in_child([] {
                  current_device().make_current();
                  return current_device().is_cpu() ? 7 : 1;
              }),
              7);
}

} // namespace
} // namespace quern
