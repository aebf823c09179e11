// card DIR INDEX: the books of a simulated card, as the card keeps them, for demo and tests.
// card DIR INDEX FROM TO: who had it for how long between two moments, nanoseconds of
// CLOCK_MONOTONIC, as the card's log says.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>

#include "simgpu/card_reader.h"
#include "simgpu/interval_reader.h"

namespace {

// {"horizon": NS, "dropped": N, "busy": {"PID": NS, ...}}
int printBusy(const char* dir, int index, std::uint64_t from, std::uint64_t to) {
  // While several processes write the log, one reading may find no quiet moment.
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(2);
  auto log = divvy::simgpu::readIntervals(dir, index);
  while (!log && Clock::now() < end) {
    std::this_thread::yield();
    log = divvy::simgpu::readIntervals(dir, index);
  }
  if (!log) {
    std::fprintf(stderr, "card: simulated card %d in %s has no log, or it changed for 2 s\n", index,
                 dir);
    return 1;
  }
  std::map<int, std::uint64_t> busy;
  for (const auto& interval : log->intervals) {
    if (!busy.contains(interval.pid)) {
      busy[interval.pid] = divvy::simgpu::busyWithin(*log, interval.pid,
                                                     divvy::simgpu::CardEngine::kCompute, from, to);
    }
  }
  std::printf("{\"horizon\": %llu, \"dropped\": %llu, \"busy\": {",
              static_cast<unsigned long long>(log->horizon_ns),
              static_cast<unsigned long long>(log->dropped));
  const char* separator = "";
  for (const auto& [pid, time] : busy) {
    std::printf("%s\"%d\": %llu", separator, pid, static_cast<unsigned long long>(time));
    separator = ", ";
  }
  std::puts("}}");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5) {
    return printBusy(argv[1], std::atoi(argv[2]), std::strtoull(argv[3], nullptr, 10),
                     std::strtoull(argv[4], nullptr, 10));
  }
  if (argc != 3) {
    std::fputs("usage: card DIR INDEX [FROM TO]\n", stderr);
    return 2;
  }
  const auto card = divvy::simgpu::readCard(argv[1], std::atoi(argv[2]));
  if (!card) {
    std::fprintf(stderr, "card: no simulated card %s in %s\n", argv[2], argv[1]);
    return 1;
  }
  std::printf(
      "{\"capacity\": %llu, \"used\": %llu, \"peak\": %llu, \"unmapped_under_work\": %llu, "
      "\"processes\": [",
      static_cast<unsigned long long>(card->capacity), static_cast<unsigned long long>(card->used),
      static_cast<unsigned long long>(card->peak),
      static_cast<unsigned long long>(card->unmapped_under_work));
  const char* separator = "";
  for (const auto& process : card->processes) {
    std::printf("%s{\"pid\": %d, \"bytes\": %llu, \"contexts\": %d}", separator, process.pid,
                static_cast<unsigned long long>(process.bytes), process.contexts);
    separator = ", ";
  }
  std::puts("]}");
  return 0;
}
