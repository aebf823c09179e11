#include "startup.h"

#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <new>
#include <string>
#include <vector>

#include "barrier.h"
#include "driver.h"

extern char** environ;

namespace divvy::bench {
namespace {

constexpr int kMaxProcesses = 1024;

struct StartupPage {
  Barrier start;
  struct {
    double spawned, ended;  // on CLOCK_MONOTONIC, milliseconds
    double wall, cpu;       // of cuInit, milliseconds
  } inits[kMaxProcesses];
};

StartupPage* mapPage(int file) {
  void* page = mmap(nullptr, sizeof(StartupPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return page == MAP_FAILED ? nullptr : static_cast<StartupPage*>(page);
}

double clockMs(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

pid_t startChild(int file, int index, int processes) {
  std::string words[] = {"divvy-bench-probe", "startup-child", std::to_string(file),
                         std::to_string(index), std::to_string(processes)};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = -1;
  const int failed =
      posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ);
  return failed != 0 ? -1 : child;
}

}  // namespace

int runStartupChild(int file, int index, int processes) {
  StartupPage* page = mapPage(file);
  if (page == nullptr || index < 0 || index >= kMaxProcesses) return 1;
  if (!page->start.meet(static_cast<std::uint32_t>(processes))) return 1;
  const double wall = clockMs(CLOCK_MONOTONIC);
  const double cpu = clockMs(CLOCK_PROCESS_CPUTIME_ID);
  must(cuInit(0), "cuInit");
  const double cpu_end = clockMs(CLOCK_PROCESS_CPUTIME_ID);
  const double ended = clockMs(CLOCK_MONOTONIC);
  auto& init = page->inits[index];
  init.ended = ended;
  init.wall = ended - wall;
  init.cpu = cpu_end - cpu;
  return 0;
}

namespace {

int runOnce(int processes) {
  const int file = memfd_create("startup", 0);
  if (file < 0 || ftruncate(file, sizeof(StartupPage)) != 0 || processes > kMaxProcesses) return 1;
  StartupPage* page = mapPage(file);
  if (page == nullptr) return 1;
  std::vector<pid_t> children;
  int failed = 0;
  for (int i = 0; i < processes && failed == 0; ++i) {
    page->inits[i].spawned = clockMs(CLOCK_MONOTONIC);
    const pid_t child = startChild(file, i, processes);
    if (child < 0)
      ++failed;
    else
      children.push_back(child);
  }
  if (failed != 0) {
    for (const pid_t child : children) kill(child, SIGKILL);
  }
  for (const pid_t child : children) {
    int status = 0;
    failed += waitpid(child, &status, 0) != child || status != 0;
  }
  for (int i = 0; i < processes && failed == 0; ++i) {
    const auto& init = page->inits[i];
    std::printf("init %.6f\ncpu %.6f\nexec %.6f\n", init.wall, init.cpu, init.ended - init.spawned);
  }
  munmap(page, sizeof *page);
  close(file);
  return failed;
}

}  // namespace

int runStartup(int processes, int repeats) {
  int failed = 0;
  for (int i = 0; i < repeats && failed == 0; ++i) failed = runOnce(processes);
  return failed;
}

}  // namespace divvy::bench
