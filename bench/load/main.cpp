// divvy-bench-load: a program that uses a card in one way for a while and then tells what it saw.
// It knows nothing of Divvy; divvy-bench starts it bare and under `divvy run`.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>

#include "loads.h"
#include "probe/barrier.h"

namespace {

using namespace divvy::bench;

constexpr const char* kUsage =
    "usage: divvy-bench-load steady|graph|gaps|duty|latency|batch|service [OPTION VALUE]...\n"
    "  --unit-us N  --seconds N  --streams N  --gap-us N  --on N  --off N  --launches N\n"
    "  --start N  --memory-mib N  --block-mib N           (batch, service)\n"
    "  --per-second N  --count N  --first N  --seed N    (latency)\n"
    "  --speed-permille N  --barrier FILE  --parties N  --stalls FILE  --spans FILE\n";

// A page that who started us has made; nullptr when there is none.
template <typename T>
T* mapPage(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* at = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return at == MAP_FAILED ? nullptr : static_cast<T*>(at);
}

// Waits for the other loads of this card.
bool meetOthers(const LoadPlan& plan) {
  if (plan.barrier.empty()) return true;
  auto* barrier = mapPage<Barrier>(plan.barrier);
  return barrier != nullptr && barrier->meet(static_cast<std::uint32_t>(plan.parties));
}

int run(const LoadPlan& plan) {
  openDevice();
  const CardClock clock(plan.speed_permille);
  WorkKernel kernel(!plan.spans.empty());
  kernel.launch(nullptr, 1);
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  if (!meetOthers(plan)) {
    std::fputs("load: the others did not come\n", stderr);
    return 1;
  }
  LoadFacts facts;
  const auto before = threadTimes();
  facts.begin = clock.now();
  runLoad({plan, clock, kernel, facts.begin, mapPage<const StallPage>(plan.stalls)}, &facts);
  facts.thread_ms = threadTimes();
  for (const auto& [name, ms] : before) facts.thread_ms[name] -= ms;
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  if (!plan.spans.empty() && !kernel.writeSpans(plan.spans)) {
    std::fputs("load: cannot keep all intervals\n", stderr);
    return 1;
  }
  std::fputs(json(facts).c_str(), stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  prctl(PR_SET_NAME, "load");  // threads are told apart by name, ours from Divvy's
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  LoadPlan plan;
  if (!parsePlan(argc, argv, &plan)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  return run(plan);
}
