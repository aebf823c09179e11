// Keeps the card busy with kernels of a known duration, between two moments of CLOCK_MONOTONIC.
//   train US         kernels of US microseconds one after the other, as a training does
//   serve US N RATE  requests of N kernels each that arrive at random, RATE in a second on average,
//                    the same ones in every run; latency is from arrival to result
// Says its process id when it is ready and reads the moments, two numbers of nanoseconds; in the
// end says what was done between them.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"
#include "kernels.h"

enum { kBatchUs = 5000, kMaxRequests = 100000, kCalibrationSteps = 100000, kTries = 7 };
static const unsigned kBlockingSync = 1;  // CU_EVENT_BLOCKING_SYNC

typedef unsigned long long Nanos;

struct Work {
  struct Driver cu;
  CUfunction kernel;
  CUdeviceptr sink;
  double amount_per_us;  // steps, or nanoseconds where the card keeps time itself
};

static Nanos now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (Nanos)time.tv_sec * 1000000000 + (Nanos)time.tv_nsec;
}

static void sleepUntil(Nanos moment) {
  const struct timespec time = {(time_t)(moment / 1000000000), (long)(moment % 1000000000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0) {
  }
}

static void launch(struct Work* work, double us) {
  unsigned long long amount = (unsigned long long)(us * work->amount_per_us);
  void* params[] = {&amount, &work->sink};
  must(work->cu.launchKernel(work->kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
       "cuLaunchKernel");
}

// A simulated card has a kernel that takes exactly as long as it is told. On a real one, steps are
// counted, because a kernel that watched the clock would also count the time of others.
static struct Work prepare(void) {
  struct Work work = {openDriver(), NULL, 0, 1000};
  CUmodule module = NULL;
  if (work.cu.moduleLoadData(&module, "simgpu-builtin 1\nkernel work = spin\n") == kSuccess) {
    must(work.cu.moduleGetFunction(&work.kernel, module, "work"), "cuModuleGetFunction");
    return work;
  }
  must(work.cu.moduleLoadData(&module, kStepsPtx), "cuModuleLoadData");
  must(work.cu.moduleGetFunction(&work.kernel, module, "steps"), "cuModuleGetFunction");
  must(work.cu.memAlloc(&work.sink, sizeof(unsigned)), "cuMemAlloc");
  double best = 0;
  work.amount_per_us = 1;
  for (int i = 0; i < kTries; ++i) {
    const Nanos begin = now();
    launch(&work, kCalibrationSteps);
    must(work.cu.ctxSynchronize(), "cuCtxSynchronize");
    best = fmax(best, kCalibrationSteps * 1000.0 / (double)(now() - begin));
  }
  work.amount_per_us = best;
  return work;
}

// Two batches are on their way, so that the card never waits for us.
static int train(struct Work* work, double us, Nanos from, Nanos to) {
  const unsigned batch = us < kBatchUs ? (unsigned)(kBatchUs / us) : 1;
  CUevent ends[2];
  for (int i = 0; i < 2; ++i) must(work->cu.eventCreate(&ends[i], kBlockingSync), "cuEventCreate");
  unsigned long long kernels = 0;
  sleepUntil(from);
  for (unsigned round = 0; now() < to; ++round) {
    if (round >= 2) {
      must(work->cu.eventSynchronize(ends[round % 2]), "cuEventSynchronize");
      if (now() < to) kernels += batch;
    }
    for (unsigned i = 0; i < batch; ++i) launch(work, us);
    must(work->cu.eventRecord(ends[round % 2], NULL), "cuEventRecord");
  }
  must(work->cu.ctxSynchronize(), "cuCtxSynchronize");
  printf("{\"kernels\": %llu, \"busy_ns\": %.0f}\n", kernels, (double)kernels * us * 1000);
  return 0;
}

static int byValue(const void* left, const void* right) {
  const double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

static int serve(struct Work* work, double us, unsigned launches, double rate, Nanos from,
                 Nanos to) {
  static double latencies[kMaxRequests];
  unsigned count = 0;
  unsigned long long random = 1;
  prctl(PR_SET_TIMERSLACK, 1);
  for (double at = (double)from; count < kMaxRequests;) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    at += -log(1 - (double)(random >> 11) * 0x1p-53) / rate * 1e9;
    if (at >= (double)to) break;
    if (now() < (Nanos)at) sleepUntil((Nanos)at);
    for (unsigned i = 0; i < launches; ++i) launch(work, us);
    must(work->cu.ctxSynchronize(), "cuCtxSynchronize");
    latencies[count++] = ((double)now() - at) / 1000;
  }
  if (count == 0) {
    fprintf(stderr, "serve: no request came\n");
    return 1;
  }
  qsort(latencies, count, sizeof *latencies, byValue);
  printf("{\"requests\": %u, \"p50_us\": %.0f, \"p99_us\": %.0f, \"max_us\": %.0f}\n", count,
         latencies[count / 2], latencies[count * 99 / 100], latencies[count - 1]);
  return 0;
}

int main(int argc, char** argv) {
  const int training = argc == 3 && strcmp(argv[1], "train") == 0;
  if (!training && !(argc == 5 && strcmp(argv[1], "serve") == 0)) {
    fprintf(stderr, "usage: timed train US | timed serve US KERNELS RATE\n");
    return 2;
  }
  struct Work work = prepare();
  printf("{\"pid\": %d}\n", (int)getpid());
  fflush(stdout);
  Nanos from = 0, to = 0;
  if (scanf("%llu %llu", &from, &to) != 2) return 1;
  const double us = atof(argv[2]);
  if (training) return train(&work, us, from, to);
  return serve(&work, us, (unsigned)atoi(argv[3]), atof(argv[4]), from, to);
}
