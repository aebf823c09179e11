// divvy-bench-probe: one measurement, in the environment it is started in. divvy-bench runs it
// bare and under `divvy run` and subtracts.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "batches.h"
#include "calls.h"
#include "crew.h"
#include "driver.h"
#include "holder.h"
#include "startup.h"
#include "swapped.h"

namespace {

using namespace divvy::bench;

constexpr const char* kUsage =
    "usage: divvy-bench-probe CALL [--workers N] [--idle N] [--operations N] [--batches N]\n"
    "                         [--granted 0|1]\n"
    "       divvy-bench-probe startup PROCESSES REPEATS\n"
    "       divvy-bench-probe holder TRIALS\n"
    "       divvy-bench-probe neighbour\n"
    "       divvy-bench-probe swapped BYTES SEED HOT\n"
    "       divvy-bench-probe name\n";

// The value after option `name`, or `otherwise`.
int option(int argc, char** argv, const char* name, int otherwise) {
  for (int i = 2; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], name) == 0) return std::atoi(argv[i + 1]);
  }
  return otherwise;
}

int runCall(const Call& call, int argc, char** argv) {
  CrewSize size;
  size.workers = option(argc, argv, "--workers", 1);
  size.idle = option(argc, argv, "--idle", 0);
  BatchPlan plan;
  plan.workers = static_cast<std::uint32_t>(size.workers);
  plan.operations = option(argc, argv, "--operations", 20'000);
  plan.batches = option(argc, argv, "--batches", 21);
  plan.granted = option(argc, argv, "--granted", 0) != 0;
  return runCrew(size, [&](CrewPages& pages) { runBatches(call, plan, pages); }) == 0 ? 0 : 1;
}

int printName() {
  CUdevice device = 0;
  char name[128] = "";
  int version = 0;
  must(cuInit(0), "cuInit");
  must(cuDeviceGet(&device, 0), "cuDeviceGet");
  must(cuDeviceGetName(name, sizeof name, device), "cuDeviceGetName");
  must(cuDriverGetVersion(&version), "cuDriverGetVersion");
  std::printf("%s, CUDA %d.%d\n", name, version / 1000, version % 1000 / 10);
  return 0;
}

// Has a context, says so, and uses it for nothing until its standard input ends.
int beNeighbour() {
  openDevice();
  std::puts("ready");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "startup" && argc == 4) return runStartup(std::atoi(argv[2]), std::atoi(argv[3]));
  if (what == "startup-child" && argc == 5) {
    return runStartupChild(std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]));
  }
  if (what == "holder" && argc == 3) return runHolder(std::atoi(argv[2]));
  if (what == "neighbour" && argc == 2) return beNeighbour();
  if (what == "swapped" && argc == 5) {
    return beSwapped(std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[3], nullptr, 10),
                     std::strtoull(argv[4], nullptr, 10));
  }
  if (what == "name" && argc == 2) return printName();
  if (const Call* call = findCall(what)) return runCall(*call, argc, argv);
  std::fputs(kUsage, stderr);
  return 2;
}
