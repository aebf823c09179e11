// Keeps a card as busy as it is told, one line at a time over a Unix socket, and answers each line
// with one: the hand of the compute tests. Times are microseconds of the card; CODE is 0 or the
// first driver error.
//
//   open DEVICES         contexts on the first so many devices     -> ok CODE
//   run US               kernels of US, one after the other, on each device until `rest` -> ok 0
//   replay               likewise with the graph that was captured -> ok 0
//   rest                 ends `run` and `replay` and their work    -> ok CODE LAUNCHES
//   once US              one kernel and its end                    -> ok CODE
//   launch US            one kernel, not its end                   -> ok CODE
//   sync                 cuCtxSynchronize on each device           -> ok CODE
//   alloc BYTES          one block                                 -> ok CODE
//   serve COUNT US GAP   COUNT requests of ten kernels of US, GAP of the clock after the last one
//                                                       -> ok CODE MEDIAN_US P90_US MAX_US
//   map PATH             flags in a file for host and kernels      -> ok CODE
//   until FLAG           on each device, a kernel that runs until the flag is 1 -> ok CODE
//   raise FLAG           a kernel that makes it 1                  -> ok CODE
//   entangle FLAG US     one thread launches a kernel that waits for the flag, another one ten
//                        kernels of US and then one that raises it -> ok CODE
//   capture ROUNDS US    captures graphs while others work         -> ok CODE OTHERS
//   thread US            a thread ends with its kernel in flight   -> ok CODE
//   destroy US           a context likewise                        -> ok CODE
//   fork US              a child comes and goes meanwhile          -> ok CODE
//   keep                 a child that outlives us, until the socket is closed -> ok PID
//   lie FROM SIZE BYTE   from now on, every 100 us, writes that over part of each line of the
//                        tenant's work page                        -> ok CODE
//   leave STATUS US      exits with a kernel in flight
//   pid | exit
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "busy_driver.h"

enum {
  kBatchUs = 5000,
  kPage = 4096,
  kRequestKernels = 10,
  kGraphKernels = 8,
  kMaxRequests = 1000
};

typedef unsigned long long Number;

// Something that goes on until it is told to stop.
struct Runner {
  pthread_t thread;
  const struct Place* place;
  Number us;
  Handle graph;  // to launch instead of a kernel
  atomic_bool stop;
  atomic_int code;
  atomic_ullong launches;
};

static struct Place places[kMaxDevices];
static int place_count;
static struct Runner runners[kMaxDevices];
static int runner_count;
static Handle captured;
static unsigned* flags;
static int connection;

static int openDevices(int count) {
  int code = bindDriver();
  for (int i = 0; code == 0 && i < count && i < kMaxDevices; ++i) {
    int device = 0;
    struct Place* place = &places[i];
    code = cu.deviceGet(&device, i);
    if (code == 0) code = cu.primaryRetain(&place->context, device);
    if (code == 0) code = cu.ctxSetCurrent(place->context);
    if (code == 0) code = loadKernels(place);
    if (code == 0) place_count = i + 1;
  }
  return code == 0 ? cu.ctxSetCurrent(places[0].context) : code;
}

static int push(struct Runner* run, Handle stream) {
  const int code =
      run->graph ? cu.graphLaunch(run->graph, stream) : launchSpin(run->place, stream, run->us);
  run->launches += code == 0;
  return code;
}

// Two batches are on their way, so that the card never waits for us.
static int runBatches(struct Runner* run) {
  const Number batch = run->us < kBatchUs ? kBatchUs / run->us : 1;
  Handle stream = NULL, ends[2] = {NULL, NULL};
  int code = cu.ctxSetCurrent(run->place->context);
  if (code == 0) code = cu.streamCreate(&stream, kNonBlocking);
  for (int i = 0; code == 0 && i < 2; ++i) code = cu.eventCreate(&ends[i], kBlockingSync);
  for (unsigned round = 0; code == 0 && !run->stop; ++round) {
    if (round >= 2) code = cu.eventSynchronize(ends[round % 2]);
    for (Number i = 0; code == 0 && i < batch && !run->stop; ++i) code = push(run, stream);
    if (code == 0) code = cu.eventRecord(ends[round % 2], stream);
  }
  const int end = stream ? cu.streamSynchronize(stream) : 0;
  return code != 0 ? code : end;
}

static void* runnerMain(void* argument) {
  struct Runner* run = argument;
  run->code = runBatches(run);
  return NULL;
}

static int begin(Number us, Handle graph) {
  int code = 0;
  for (int i = 0; i < place_count && code == 0; ++i) {
    struct Runner* run = &runners[runner_count];
    memset(run, 0, sizeof *run);
    run->place = &places[i];
    run->us = us;
    run->graph = graph;
    code = pthread_create(&run->thread, NULL, runnerMain, run);
    runner_count += code == 0;
  }
  return code;
}

static int rest(Number* launches) {
  int code = 0;
  for (int i = 0; i < runner_count; ++i) runners[i].stop = 1;
  for (int i = 0; i < runner_count; ++i) {
    pthread_join(runners[i].thread, NULL);
    if (code == 0) code = runners[i].code;
    *launches += runners[i].launches;
  }
  runner_count = 0;
  return code;
}

static int syncAll(void) {
  int code = 0;
  for (int i = 0; i < place_count && code == 0; ++i) {
    code = cu.ctxSetCurrent(places[i].context);
    if (code == 0) code = cu.ctxSynchronize();
  }
  cu.ctxSetCurrent(places[0].context);
  return code;
}

static Number nowNs(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (Number)time.tv_sec * 1000000000 + (Number)time.tv_nsec;
}

static int byValue(const void* left, const void* right) {
  const Number a = *(const Number*)left, b = *(const Number*)right;
  return (a > b) - (a < b);
}

static void serve(size_t count, Number us, Number gap_us, FILE* out) {
  static Number took[kMaxRequests];
  int code = 0;
  if (count == 0 || count > kMaxRequests) count = kMaxRequests;
  prctl(PR_SET_TIMERSLACK, 1);
  for (size_t i = 0; i < count && code == 0; ++i) {
    const struct timespec gap = {(time_t)(gap_us / 1000000), (long)(gap_us % 1000000 * 1000)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &gap, NULL);
    const Number arrived = nowNs();
    for (int k = 0; k < kRequestKernels && code == 0; ++k) code = launchSpin(places, NULL, us);
    if (code == 0) code = cu.ctxSynchronize();
    took[i] = (nowNs() - arrived) / 1000;
  }
  qsort(took, count, sizeof *took, byValue);
  fprintf(out, "ok %d %llu %llu %llu\n", code, took[count / 2], took[count * 9 / 10],
          took[count - 1]);
}

static int mapFlags(const char* path) {
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return -1;
  flags = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return flags == MAP_FAILED ? -1 : cu.hostRegister(flags, kPage, kPortableDeviceMap);
}

static CUdeviceptr flagOnDevice(size_t flag) {
  CUdeviceptr base = 0;
  cu.hostDevicePointer(&base, flags, 0);
  return base + flag * sizeof *flags;
}

static int untilOnAll(size_t flag) {
  int code = 0;
  for (int i = 0; i < place_count && code == 0; ++i) {
    code = cu.ctxSetCurrent(places[i].context);
    if (code == 0) code = launchUntil(&places[i], NULL, flagOnDevice(flag));
  }
  cu.ctxSetCurrent(places[0].context);
  return code;
}

struct Task {
  int (*work)(size_t flag, Number us);
  size_t flag;
  Number us;
  int code;
};

static void* taskMain(void* argument) {
  struct Task* task = argument;
  task->code = cu.ctxSetCurrent(places[0].context);
  if (task->code == 0) task->code = task->work(task->flag, task->us);
  return NULL;
}

static int startTask(pthread_t* thread, struct Task* task) {
  return pthread_create(thread, NULL, taskMain, task);
}

static int inThread(struct Task task) {
  pthread_t thread;
  if (startTask(&thread, &task) != 0) return -1;
  pthread_join(thread, NULL);
  return task.code;
}

static int launchAlone(size_t flag, Number us) {
  Handle stream = NULL;
  (void)flag;
  const int code = cu.streamCreate(&stream, kNonBlocking);
  return code == 0 ? launchSpin(places, stream, us) : code;
}

static int waitForFlag(size_t flag, Number us) {
  Handle stream = NULL;
  (void)us;
  int code = cu.streamCreate(&stream, kNonBlocking);
  if (code == 0) code = launchUntil(places, stream, flagOnDevice(flag));
  return code;
}

static int workThenRaise(size_t flag, Number us) {
  Handle stream = NULL;
  int code = cu.streamCreate(&stream, kNonBlocking);
  for (int i = 0; i < 10 && code == 0; ++i) code = launchSpin(places, stream, us);
  if (code == 0) code = launchSet(places, stream, flagOnDevice(flag));
  return code;
}

static int entangle(size_t flag, Number us) {
  int code = inThread((struct Task){waitForFlag, flag, us, 0});
  if (code == 0) code = inThread((struct Task){workThenRaise, flag, us, 0});
  return code == 0 ? cu.ctxSynchronize() : code;
}

static atomic_bool capturing_over;
static atomic_ullong others_done;

// As PyTorch does it: what could break another thread's capture is done in relaxed mode.
static int workMeanwhile(size_t allocates, Number us) {
  static unsigned char host[kPage];
  Handle stream = NULL;
  CUdeviceptr block = 0;
  int relaxed = kCaptureRelaxed;
  int code = cu.exchangeCaptureMode(&relaxed);
  if (code == 0) code = cu.streamCreate(&stream, kNonBlocking);
  if (code == 0) code = cu.memAlloc(&block, kPage);
  cu.exchangeCaptureMode(&relaxed);
  for (Number i = 1; code == 0 && !capturing_over; ++i) {
    if (!allocates) code = launchSpin(places, stream, us);
    if (code == 0 && !allocates) code = cu.copyHtoDAsync(block, host, sizeof host, stream);
    if (code == 0 && (allocates || i % 8 == 0)) {
      CUdeviceptr more = 0;
      cu.exchangeCaptureMode(&relaxed);
      code = allocates ? cu.memAlloc(&more, 1 << 20) : cu.streamSynchronize(stream);
      if (code == 0 && allocates) code = cu.memFree(more);
      cu.exchangeCaptureMode(&relaxed);
    }
    others_done += code == 0;
  }
  return code;
}

static int captureOne(Handle stream, Number us) {
  Handle graph = NULL;
  int code = cu.streamBeginCapture(stream, kCaptureGlobal);
  for (int i = 0; i < kGraphKernels && code == 0; ++i) code = launchSpin(places, stream, us);
  const int end = cu.streamEndCapture(stream, &graph);
  if (code == 0) code = end;
  if (code == 0) code = cu.graphInstantiate(&captured, graph, 0);
  if (graph) cu.graphDestroy(graph);
  if (code == 0) code = cu.graphLaunch(captured, stream);
  return code == 0 ? cu.streamSynchronize(stream) : code;
}

static int capture(Number rounds, Number us) {
  Handle stream = NULL;
  struct Task others[2] = {{workMeanwhile, 0, us, 0}, {workMeanwhile, 1, us, 0}};
  pthread_t threads[2];
  int code = cu.streamCreate(&stream, kNonBlocking);
  capturing_over = 0;
  for (int i = 0; i < 2; ++i) startTask(&threads[i], &others[i]);
  for (Number i = 0; i < rounds && code == 0; ++i) code = captureOne(stream, us);
  capturing_over = 1;
  for (int i = 0; i < 2; ++i) {
    pthread_join(threads[i], NULL);
    if (code == 0) code = others[i].code;
  }
  return code;
}

static int destroyAtWork(Number us) {
  int device = 0;
  struct Place place;
  int code = cu.deviceGet(&device, 0);
  if (code == 0) code = cu.ctxCreate(&place.context, 0, device);
  if (code == 0) code = loadKernels(&place);
  if (code == 0) code = launchSpin(&place, NULL, us);
  if (code == 0) code = cu.ctxDestroy(place.context);
  cu.ctxSetCurrent(places[0].context);
  return code;
}

static int forkAtWork(Number us) {
  const int code = launchSpin(places, NULL, us);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
  return code == 0 ? cu.ctxSynchronize() : code;
}

// The child lives until the other end of the socket is closed.
static pid_t keepChild(void) {
  const pid_t child = fork();
  if (child != 0) return child;
  struct pollfd hangup = {connection, POLLRDHUP, 0};
  while (poll(&hangup, 1, -1) >= 0 && (hangup.revents & (POLLRDHUP | POLLHUP)) == 0) {
  }
  _exit(0);
}

struct Lie {
  char* page;
  size_t size;
  Number from, length;
  int byte;
};

// Lines of a work page as src/ledger/include/ledger/work.h has them.
enum { kWorkHeader = 256, kWorkLine = 256 };

static void* lieMain(void* argument) {
  const struct Lie* lie = argument;
  const struct timespec pause = {0, 100000};
  for (;;) {
    for (size_t at = kWorkHeader; at + kWorkLine <= lie->size; at += kWorkLine)
      memset(lie->page + at + lie->from, lie->byte, lie->length);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
  }
  return NULL;
}

static int startLie(Number from, Number length, Number byte) {
  static struct Lie lie;
  char path[256];
  pthread_t thread;
  const char* dir = getenv("DIVVY_TENANT_DIR");
  snprintf(path, sizeof path, "%s/work", dir ? dir : "");
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0 || from + length > kWorkLine) return -1;
  lie = (struct Lie){NULL, kWorkHeader + 16 * kWorkLine, from, length, (int)byte};
  lie.page = mmap(NULL, lie.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return lie.page == MAP_FAILED ? -1 : pthread_create(&thread, NULL, lieMain, &lie);
}

static void leave(int status, Number us) {
  launchSpin(places, NULL, us);
  exit(status);
}

static int obeyOne(const char* verb, Number first, Number second, const char* word) {
  if (strcmp(verb, "open") == 0) return openDevices((int)first);
  if (strcmp(verb, "run") == 0) return begin(first, NULL);
  if (strcmp(verb, "replay") == 0) return begin(1000, captured);
  if (strcmp(verb, "launch") == 0) return launchSpin(places, NULL, first);
  if (strcmp(verb, "sync") == 0) return syncAll();
  if (strcmp(verb, "map") == 0) return mapFlags(word);
  if (strcmp(verb, "until") == 0) return untilOnAll(first);
  if (strcmp(verb, "raise") == 0) return launchSet(places, NULL, flagOnDevice(first));
  if (strcmp(verb, "entangle") == 0) return entangle(first, second);
  if (strcmp(verb, "thread") == 0) return inThread((struct Task){launchAlone, 0, first, 0});
  if (strcmp(verb, "destroy") == 0) return destroyAtWork(first);
  if (strcmp(verb, "fork") == 0) return forkAtWork(first);
  if (strcmp(verb, "pid") == 0) return (int)getpid();
  if (strcmp(verb, "keep") == 0) return (int)keepChild();
  if (strcmp(verb, "leave") == 0) leave((int)first, second);
  if (strcmp(verb, "once") == 0) {
    const int code = launchSpin(places, NULL, first);
    return code == 0 ? cu.ctxSynchronize() : code;
  }
  if (strcmp(verb, "alloc") == 0) {
    CUdeviceptr block = 0;
    return cu.memAlloc(&block, first);
  }
  return -1;
}

static void obey(const char* line, FILE* out) {
  char verb[32] = "", word[128] = "";
  Number first = 0, second = 0, third = 0, launches = 0;
  sscanf(line, "%31s %127s", verb, word);
  sscanf(line, "%*s %llu %llu %llu", &first, &second, &third);
  if (strcmp(verb, "exit") == 0) exit(0);
  if (strcmp(verb, "serve") == 0) {
    serve(first, second, third, out);
  } else if (strcmp(verb, "lie") == 0) {
    fprintf(out, "ok %d\n", startLie(first, second, third));
  } else if (strcmp(verb, "rest") == 0) {
    const int code = rest(&launches);
    fprintf(out, "ok %d %llu\n", code, launches);
  } else if (strcmp(verb, "capture") == 0) {
    const int code = capture(first, second);
    fprintf(out, "ok %d %llu\n", code, others_done);
  } else {
    fprintf(out, "ok %d\n", obeyOne(verb, first, second, word));
  }
  fflush(out);
}

int main(int argc, char** argv) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  char line[256];
  if (argc != 2) return 2;
  snprintf(address.sun_path, sizeof address.sun_path, "%s", argv[1]);
  connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(connection, (struct sockaddr*)&address, sizeof address) != 0) {
    perror("busy: connect");
    return 1;
  }
  FILE* in = fdopen(connection, "r");
  FILE* out = fdopen(dup(connection), "w");
  while (fgets(line, sizeof line, in)) obey(line, out);
  return 0;
}
