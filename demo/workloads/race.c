// PROCESSES processes allocate and free blocks of random sizes at the same time, ATTEMPTS in all,
// asking for far more than there is. Counts what was granted and refused; anything but success or
// out-of-memory is an error. A word that all processes share holds the sum of live blocks and its
// highest value, as a witness beside the card's own books.
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"

enum { kLiveBlocks = 48, kMaxSteps = 16, kStep = 2 << 20 };

struct Race {
  atomic_ullong granted, refused, wrong, live, most;
};

// A small generator of its own per process: the order of events is random enough already.
static uint32_t next(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static void raiseMost(struct Race* race, unsigned long long live) {
  unsigned long long most = atomic_load(&race->most);
  while (live > most && !atomic_compare_exchange_weak(&race->most, &most, live)) {
  }
}

static void tryOne(struct Race* race, const struct Driver* cu, CUdeviceptr* block, size_t* held,
                   size_t bytes) {
  const CUresult result = cu->memAlloc(block, bytes);
  if (result == kSuccess) {
    *held = bytes;
    raiseMost(race, atomic_fetch_add(&race->live, bytes) + bytes);
    atomic_fetch_add(&race->granted, 1);
  } else {
    atomic_fetch_add(result == kOutOfMemory ? &race->refused : &race->wrong, 1);
  }
}

static void giveBack(struct Race* race, const struct Driver* cu, CUdeviceptr block, size_t* held) {
  atomic_fetch_sub(&race->live, *held);
  *held = 0;
  must(cu->memFree(block), "cuMemFree");
}

static void runOne(struct Race* race, const struct Driver* cu, long attempts, uint32_t seed) {
  CUdeviceptr blocks[kLiveBlocks];
  size_t held[kLiveBlocks] = {0};
  for (long done = 0; done < attempts;) {
    const uint32_t slot = next(&seed) % kLiveBlocks;
    if (held[slot]) {
      giveBack(race, cu, blocks[slot], &held[slot]);
    } else {
      tryOne(race, cu, &blocks[slot], &held[slot], (1 + next(&seed) % kMaxSteps) * (size_t)kStep);
      ++done;
    }
  }
  for (int slot = 0; slot < kLiveBlocks; ++slot) {
    if (held[slot]) giveBack(race, cu, blocks[slot], &held[slot]);
  }
}

// The meeting point before the race: each process says that it is ready and waits for the start.
struct Start {
  int ready[2], go[2];
};

static void meet(const struct Start* start) {
  char byte = 1;
  close(start->go[1]);
  if (write(start->ready[1], &byte, 1) != 1) exit(1);
  close(start->ready[1]);
  while (read(start->go[0], &byte, 1) > 0) {
  }
}

// False when a process ended before it was ready.
static int startAll(const struct Start* start, int processes) {
  char byte;
  close(start->ready[1]);
  for (int i = 0; i < processes; ++i) {
    if (read(start->ready[0], &byte, 1) != 1) return 0;
  }
  close(start->go[1]);
  return 1;
}

// Whether one failed; the first failure ends the wait, and with this process its children end.
static int awaitAll(int count) {
  for (int left = count; left > 0; --left) {
    int status = 0;
    if (wait(&status) < 0 || status != 0) return 1;
  }
  return 0;
}

static void child(struct Race* race, const struct Start* start, long attempts, uint32_t seed) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const struct Driver cu = openDriver();
  meet(start);
  runOne(race, &cu, attempts, seed);
  _exit(0);
}

int main(int argc, char** argv) {
  const int processes = argc == 3 ? atoi(argv[1]) : 0;
  const long attempts = argc == 3 ? atol(argv[2]) : 0;
  if (processes < 1 || processes > 1024 || attempts < processes) {
    fprintf(stderr, "usage: race PROCESSES ATTEMPTS\n");
    return 2;
  }
  struct Race* race =
      mmap(NULL, sizeof *race, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  struct Start start;
  if (race == MAP_FAILED || pipe(start.ready) != 0 || pipe(start.go) != 0) {
    perror("race");
    return 1;
  }
  for (int i = 0; i < processes; ++i) {
    const pid_t pid = fork();
    if (pid == 0) child(race, &start, attempts / processes, (uint32_t)i * 7919u + 1);
    if (pid < 0) {
      perror("race: fork");
      return 1;
    }
  }
  const int failed = !startAll(&start, processes) || awaitAll(processes);
  printf(
      "{\"processes\": %d, \"granted\": %llu, \"refused\": %llu, \"wrong\": %llu, "
      "\"most\": %llu, \"left\": %llu, \"failed\": %d}\n",
      processes, race->granted, race->refused, race->wrong, race->most, race->live, failed);
  return failed || race->wrong ? 1 : 0;
}
