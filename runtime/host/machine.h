// What this process may use of the machine: processor name, CPUs, memory. Affinity masks and
// control groups count.
#pragma once
#include <cstddef>
#include <string>

namespace quern::host {

[[nodiscard]] std::string processor_name();      // "AMD EPYC 9654"
[[nodiscard]] int usable_cpus();                 // at least 1; QUERN_NUM_THREADS wins
[[nodiscard]] int clock_khz();                   // 0 if unknown
[[nodiscard]] std::size_t usable_memory_bytes(); // physical, or the control group's limit
[[nodiscard]] std::size_t free_memory_bytes();

} // namespace quern::host
