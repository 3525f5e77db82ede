// Random operands, the same in every run.
#pragma once
#include <cstddef>
#include <random>
#include <vector>

namespace quern::test {

inline std::vector<int> random_ints(std::size_t count, unsigned seed, int low = -1000,
                                    int high = 1000) {
    std::mt19937 engine(seed);
    std::uniform_int_distribution<int> values(low, high);
    std::vector<int> result(count);
    for (auto& value : result)
        value = values(engine);
    return result;
}

} // namespace quern::test
