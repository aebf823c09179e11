#include "crew.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

#include "driver.h"

namespace divvy::bench {
namespace {

constexpr std::size_t kIdleBytes = 1 << 20;

// Holds a context and a block until the crew's parent closes the other end of `done`.
void beIdle(CrewPages& pages, std::uint32_t parties, int done) {
  CUdeviceptr block = 0;
  openDevice();
  must(cuMemAlloc_v2(&block, kIdleBytes), "cuMemAlloc of an idle process");
  if (!pages.ready.meet(parties)) _exit(1);
  char byte = 0;
  while (read(done, &byte, 1) > 0) {
  }
  must(cuMemFree_v2(block), "cuMemFree of an idle process");
}

void beMember(bool idle, CrewSize size, CrewPages& pages, int done,
              const std::function<void(CrewPages&)>& work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto parties = static_cast<std::uint32_t>(size.workers + size.idle);
  if (idle) {
    beIdle(pages, parties, done);
    return;
  }
  openDevice();
  if (!pages.ready.meet(parties)) _exit(1);
  work(pages);
}

struct Member {
  pid_t pid;
  bool idle;
};

void killAll(const std::vector<Member>& members) {
  for (const Member& member : members) kill(member.pid, SIGKILL);
}

// Waits for the workers, dismisses the idle, then waits for those; returns how many failed.
int awaitAll(std::vector<Member> members, int workers, int dismiss) {
  int failed = 0;
  while (!members.empty()) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    const auto member =
        std::find_if(members.begin(), members.end(), [&](Member m) { return m.pid == ended; });
    if (member == members.end()) return failed + 1;
    if (!member->idle && --workers == 0) close(dismiss);
    members.erase(member);
    if (status != 0 && failed++ == 0) killAll(members);
  }
  return failed;
}

}  // namespace

int runCrew(CrewSize size, const std::function<void(CrewPages&)>& work) {
  void* shared =
      mmap(nullptr, sizeof(CrewPages), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int done[2] = {-1, -1};
  if (shared == MAP_FAILED || pipe(done) != 0) {
    perror("probe: shared page");
    return 1;
  }
  auto* pages = new (shared) CrewPages;
  std::vector<Member> members;
  for (int i = 0; i < size.workers + size.idle; ++i) {
    const pid_t child = fork();
    if (child < 0) {
      perror("probe: fork");
      killAll(members);
      return 1;
    }
    if (child == 0) {
      close(done[1]);
      beMember(i >= size.workers, size, *pages, done[0], work);
      fflush(stdout);
      _exit(0);
    }
    members.push_back({child, i >= size.workers});
  }
  close(done[0]);
  return awaitAll(std::move(members), size.workers, done[1]);
}

}  // namespace divvy::bench
