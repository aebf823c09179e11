// Says what a program in a container sees of its first device, in one line, on stdout and where the
// kubelet looks for a last word: NAME=VALUE, bytes and results of the driver API.
//
//   total   cuDeviceTotalMem         nvml   the same by NVML
//   free    cuMemGetInfo, with a context
//   above   of asking for one granule more than that; nothing is allocated then
//   exact   of asking for that       full   of asking for one granule more when it is used up
//   devices cuDeviceGetCount         uuid   FNV-1a of what NVML calls the first one
//
// "expect BYTES": fails where that is not what it sees. "stay": does not end. "work": neither, and
// allocates, computes, looks and frees all the time: the first error ends it, and once a second it
// says on stdout how many rounds that were (rounds=N). "until BYTES": the same, until that is
// what it may have; then it says once more what it sees and gets. "begin": only says when it
// began, nanoseconds since 1970, and needs no driver for that. "contend NANOSECONDS": kernels that
// long, one after another, with little memory. "enroll TENANT": tells the agent that it is a
// process of that tenant, or of its own ("own"), in a slot that it has not taken
// (ledger/registration.h), and says the answer: status=N. It needs no driver either.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "register_packet.h"

enum { kGranule = 512, kMaxHeld = 1 << 20 };

typedef int (*Call)();

static void* cuda;

static void say(const char* line) {
  puts(line);
  fflush(stdout);
  FILE* last = fopen("/dev/termination-log", "w");
  if (last == NULL) return;
  fputs(line, last);
  fclose(last);
}

// What went wrong is the last word, too: it is all that is left of a container.
static void fail(const char* doing, const char* why) {
  char line[512];
  snprintf(line, sizeof line, "share_probe: %s: %s\n", doing, why);
  say(line);
  exit(1);
}

// Ends the program where the driver has no such entry point.
static Call entry(void* library, const char* name) {
  union {
    void* object;
    Call call;
  } found = {dlsym(library, name)};
  if (found.object == NULL) fail(name, dlerror());
  return found.call;
}

static void must(const char* doing, int result) {
  if (result == 0) return;
  char why[32];
  snprintf(why, sizeof why, "%d", result);
  fail(doing, why);
}

struct OfNvml {
  unsigned long long total, uuid;
};

static struct OfNvml askNvml(void) {
  struct {
    unsigned long long total, free, used;
  } memory = {0, 0, 0};
  char uuid[96] = "";
  void* device = NULL;
  void* nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (nvml == NULL) fail("NVML", dlerror());
  must("nvmlInit", entry(nvml, "nvmlInit_v2")());
  must("nvmlDeviceGetHandleByIndex", entry(nvml, "nvmlDeviceGetHandleByIndex_v2")(0u, &device));
  must("nvmlDeviceGetMemoryInfo", entry(nvml, "nvmlDeviceGetMemoryInfo")(device, &memory));
  must("nvmlDeviceGetUUID", entry(nvml, "nvmlDeviceGetUUID")(device, uuid, (unsigned)sizeof uuid));
  struct OfNvml said = {memory.total, 14695981039346656037ull};
  for (const char* at = uuid; *at != 0; ++at)
    said.uuid = (said.uuid ^ (unsigned char)*at) * 1099511628211ull;
  return said;
}

// Until so much is all that it may have; 0: for ever.
static void work(unsigned long long until) {
  Call allocate = entry(cuda, "cuMemAlloc_v2");
  Call release = entry(cuda, "cuMemFree_v2");
  Call set = entry(cuda, "cuMemsetD8_v2");
  Call wait = entry(cuda, "cuCtxSynchronize");
  Call look = entry(cuda, "cuMemGetInfo_v2");
  unsigned long long address = 0, rounds = 0;
  size_t left = 0, all = 0;
  time_t told = 0;
  do {
    must("cuMemAlloc", allocate(&address, (size_t)1 << 20));
    must("cuMemsetD8", set(address, 1, (size_t)kGranule));
    must("cuCtxSynchronize", wait());
    must("cuMemGetInfo", look(&left, &all));
    must("cuMemFree", release(address));
    ++rounds;
    const time_t now = time(NULL);
    if (now == told) continue;
    told = now;
    printf("rounds=%llu\n", rounds);
    fflush(stdout);
  } while (until == 0 || all != until);
}

// Does not return. Kernels of the simulated driver's own: they take time on the card, and none
// here.
static void contend(unsigned long long nanoseconds) {
  void *module = NULL, *kernel = NULL, *arguments[] = {&nanoseconds};
  Call launch = entry(cuda, "cuLaunchKernel");
  Call wait = entry(cuda, "cuCtxSynchronize");
  must("cuModuleLoadData",
       entry(cuda, "cuModuleLoadData")(&module, "simgpu-builtin 1\nkernel work = spin\n"));
  must("cuModuleGetFunction", entry(cuda, "cuModuleGetFunction")(&kernel, module, "work"));
  say("contends\n");
  for (;;) {
    must("cuLaunchKernel", launch(kernel, 1u, 1u, 1u, 1u, 1u, 1u, 0u, NULL, arguments, NULL));
    must("cuCtxSynchronize", wait());
  }
}

// The folder that its pages are mounted from is called by its tenant.
static void ownTenant(char* id, size_t size) {
  char line[4096], root[2048], place[2048];
  FILE* mounts = fopen("/proc/self/mountinfo", "r");
  while (mounts != NULL && fgets(line, sizeof line, mounts) != NULL) {
    if (sscanf(line, "%*d %*d %*s %2047s %2047s", root, place) != 2) continue;
    char* file = strrchr(root, '/');
    if (file == NULL || strcmp(place, "/run/divvy/tenant/control") != 0) continue;
    *file = '\0';
    snprintf(id, size, "%s", strrchr(root, '/') == NULL ? "" : strrchr(root, '/') + 1);
    fclose(mounts);
    return;
  }
  fail("tenant", "its pages are not mounted");
}

static int enroll(const char* tenant) {
  struct RegisterPacket packet = registerPacket(tenant);
  uint32_t reply[4];
  struct sockaddr_un address = {AF_UNIX, "/run/divvy/reg/register.sock"};
  char line[64];
  if (strcmp(tenant, "own") == 0) ownTenant(packet.tenant, sizeof packet.tenant);
  const int agent = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  if (connect(agent, (struct sockaddr*)&address, sizeof address) != 0) fail("agent", "not there");
  if (send(agent, &packet, sizeof packet, 0) != (ssize_t)sizeof packet) fail("agent", "deaf");
  if (recv(agent, reply, sizeof reply, 0) != (ssize_t)sizeof reply) fail("agent", "silent");
  snprintf(line, sizeof line, "status=%u\n", reply[1]);
  say(line);
  return 0;
}

static int begin(void) {
  struct timespec now;
  char line[64];
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(line, sizeof line, "began=%lld\n", now.tv_sec * 1000000000ll + now.tv_nsec);
  say(line);
  return 0;
}

// What it sees and gets, in one line: how many devices. What it got is at `address` then.
static int tell(int device, unsigned long long* address, size_t* total, unsigned long long* nvml,
                int* exact) {
  int devices = 0;
  size_t free_bytes = 0, all = 0;
  unsigned long long more = 0;
  must("cuDeviceGetCount", entry(cuda, "cuDeviceGetCount")(&devices));
  must("cuDeviceTotalMem", entry(cuda, "cuDeviceTotalMem_v2")(total, device));
  const struct OfNvml said = askNvml();
  *nvml = said.total;
  must("cuMemGetInfo", entry(cuda, "cuMemGetInfo_v2")(&free_bytes, &all));
  const size_t whole = free_bytes / kGranule * kGranule;
  Call allocate = entry(cuda, "cuMemAlloc_v2");
  const int above = allocate(&more, whole + kGranule);
  *exact = allocate(address, whole);
  const int full = allocate(&more, (size_t)kGranule);
  char line[512];
  snprintf(line, sizeof line,
           "devices=%d total=%zu nvml=%llu free=%zu above=%d exact=%d full=%d uuid=%llu\n", devices,
           *total, said.total, free_bytes, above, *exact, full, said.uuid);
  say(line);
  return devices;
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "begin") == 0) return begin();
  if (argc > 2 && strcmp(argv[1], "enroll") == 0) return enroll(argv[2]);
  cuda = dlopen("libcuda.so.1", RTLD_NOW);
  if (cuda == NULL) fail("CUDA", dlerror());
  const char* word = argc > 1 ? argv[1] : "";
  const unsigned long long bytes = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
  int device = 0, exact = 0;
  size_t total = 0;
  void* context = NULL;
  unsigned long long address = 0, nvml = 0;
  must("cuInit", entry(cuda, "cuInit")(0u));
  must("cuDeviceGet", entry(cuda, "cuDeviceGet")(&device, 0));
  must("cuCtxCreate", entry(cuda, "cuCtxCreate_v2")(&context, 0u, device));
  if (strcmp(word, "contend") == 0) contend(bytes);
  const int devices = tell(device, &address, &total, &nvml, &exact);
  if (strcmp(word, "expect") == 0) {
    const int good = devices == 1 && total == bytes && nvml == bytes && exact == 0;
    if (!good) fail("one device was expected, with bytes", argc > 2 ? argv[2] : "");
    return 0;
  }
  // For those who look at it while it runs.
  if (strcmp(word, "stay") == 0) pause();
  if (strcmp(word, "work") != 0 && strcmp(word, "until") != 0) return 0;
  must("cuMemFree", entry(cuda, "cuMemFree_v2")(address));
  work(strcmp(word, "until") == 0 ? bytes : 0);
  tell(device, &address, &total, &nvml, &exact);
  return 0;
}
