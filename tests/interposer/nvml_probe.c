/* Asks NVML what its arguments say and prints one line per question: "question=status[ answer]".
   Knows nothing of Divvy. The library is found as PROBE_OPEN says:
     a name or path   dlopen of it (default: libnvidia-ml.so.1)
     global           what is in the process already */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void* Device;
typedef struct {
  unsigned long long total, free, used;
} Memory;
typedef struct {
  unsigned version;
  unsigned long long total, reserved, free, used;
} Memory2;
typedef struct {
  char legacy[16];
  unsigned numbers[6];
  char bus_id[32];
} PciInfo;
typedef struct {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
} Process;

static void* library;

static void* find(const char* name) {
  void* first = dlsym(library, name);
  void* second = dlsym(library, name); /* some preload libraries answer the second time with NULL */
  if (first != second) {
    printf("%s: two lookups, two answers\n", name);
    exit(3);
  }
  return first;
}

static int missing(void) {
  return -1;
}

#define CALL(name, ...) \
  (((int (*)())(find(name) == NULL ? (void*)missing : find(name)))(__VA_ARGS__))

static Device deviceAt(const char* text) {
  Device device = NULL;
  CALL("nvmlDeviceGetHandleByIndex_v2", (unsigned)atoi(text), &device);
  return device;
}

static void printUuid(Device device) {
  char uuid[96] = "";
  if (device != NULL) CALL("nvmlDeviceGetUUID", device, uuid, (unsigned)sizeof uuid);
  printf(" %s", uuid);
}

static void printProcesses(const char* function, Device device) {
  Process rows[64];
  unsigned count = 64;
  int status = CALL(function, device, &count, rows);
  printf("%d", status);
  for (unsigned i = 0; status == 0 && i < count; ++i)
    printf(" %u:%llu", rows[i].pid, rows[i].bytes);
}

/* Process CPU time of one nvmlDeviceGetMemoryInfo, median of batches, in nanoseconds. */
static int ascending(const void* a, const void* b) {
  double difference = *(const double*)a - *(const double*)b;
  return difference < 0 ? -1 : difference > 0;
}

static double memoryInfoCost(Device device) {
  enum { kBatches = 21, kCalls = 20000 };
  int (*query)(Device, Memory*) = (int (*)(Device, Memory*))find("nvmlDeviceGetMemoryInfo");
  double costs[kBatches];
  Memory memory;
  for (int batch = 0; batch < kBatches; ++batch) {
    struct timespec start, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    for (int i = 0; i < kCalls; ++i) query(device, &memory);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    double taken =
        (double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec);
    costs[batch] = taken / kCalls;
  }
  qsort(costs, kBatches, sizeof costs[0], ascending);
  return costs[kBatches / 2];
}

static void ask(const char* question, const char* argument) {
  unsigned number = 0;
  Device device = NULL;
  if (strcmp(question, "init") == 0) {
    printf("%d", CALL("nvmlInit_v2"));
  } else if (strcmp(question, "oldinit") == 0) {
    printf("%d", CALL("nvmlInit"));
  } else if (strcmp(question, "shutdown") == 0) {
    printf("%d", CALL("nvmlShutdown"));
  } else if (strcmp(question, "error") == 0) {
    printf("0 %s", ((const char* (*)(int))find("nvmlErrorString"))(atoi(argument)));
  } else if (strcmp(question, "driver") == 0) {
    char version[80] = "";
    int status = CALL("nvmlSystemGetDriverVersion", version, (unsigned)sizeof version);
    printf("%d %s", status, version);
  } else if (strcmp(question, "count") == 0) {
    int status = CALL("nvmlDeviceGetCount_v2", &number);
    printf("%d %u", status, number);
  } else if (strcmp(question, "oldcount") == 0) {
    int status = CALL("nvmlDeviceGetCount", &number);
    printf("%d %u", status, number);
  } else if (strcmp(question, "uuid") == 0) {
    int status = CALL("nvmlDeviceGetHandleByIndex_v2", (unsigned)atoi(argument), &device);
    printf("%d", status);
    printUuid(device);
  } else if (strcmp(question, "olduuid") == 0) {
    int status = CALL("nvmlDeviceGetHandleByIndex", (unsigned)atoi(argument), &device);
    printf("%d", status);
    printUuid(device);
  } else if (strcmp(question, "byuuid") == 0) {
    int status = CALL("nvmlDeviceGetHandleByUUID", argument, &device);
    if (status == 0) CALL("nvmlDeviceGetIndex", device, &number);
    printf("%d %u", status, number);
  } else if (strcmp(question, "bypci") == 0) {
    int status = CALL("nvmlDeviceGetHandleByPciBusId_v2", argument, &device);
    printf("%d", status);
    printUuid(device);
  } else if (strcmp(question, "pci") == 0) {
    PciInfo info;
    memset(&info, 0, sizeof info);
    int status = CALL("nvmlDeviceGetPciInfo_v3", deviceAt(argument), &info);
    printf("%d %s", status, info.legacy);
  } else if (strcmp(question, "memory") == 0) {
    Memory memory = {0, 0, 0};
    int status = CALL("nvmlDeviceGetMemoryInfo", deviceAt(argument), &memory);
    printf("%d %llu %llu %llu", status, memory.total, memory.used, memory.free);
  } else if (strcmp(question, "memorycost") == 0) {
    printf("0 %.1f", memoryInfoCost(deviceAt(argument)));
  } else if (strcmp(question, "memory2") == 0) {
    Memory2 memory = {2u << 24 | sizeof(Memory2), 0, 0, 0, 0};
    int status = CALL("nvmlDeviceGetMemoryInfo_v2", deviceAt(argument), &memory);
    printf("%d %llu %llu %llu %llu", status, memory.total, memory.used, memory.free,
           memory.reserved);
  } else if (strcmp(question, "bar1") == 0) {
    Memory memory = {0, 0, 0};
    int status = CALL("nvmlDeviceGetBAR1MemoryInfo", deviceAt(argument), &memory);
    printf("%d %llu", status, memory.total);
  } else if (strcmp(question, "utilisation") == 0) {
    unsigned rates[2] = {0, 0};
    printf("%d", CALL("nvmlDeviceGetUtilizationRates", deviceAt(argument), rates));
  } else if (strcmp(question, "compute") == 0) {
    printProcesses("nvmlDeviceGetComputeRunningProcesses_v3", deviceAt(argument));
  } else if (strcmp(question, "graphics") == 0) {
    printProcesses("nvmlDeviceGetGraphicsRunningProcesses_v3", deviceAt(argument));
  } else {
    printf("? unknown question");
  }
}

int main(int argc, char** argv) {
  const char* open = getenv("PROBE_OPEN");
  if (open == NULL) open = "libnvidia-ml.so.1";
  library = strcmp(open, "global") == 0 ? RTLD_DEFAULT : dlopen(open, RTLD_NOW);
  if (library == NULL && strcmp(open, "global") != 0) {
    printf("open=-1 %s\n", dlerror());
    return 2;
  }
  for (int i = 1; i < argc; ++i) {
    char question[256];
    snprintf(question, sizeof question, "%s", argv[i]);
    char* argument = strchr(question, ':');
    if (argument != NULL) *argument++ = '\0';
    printf("%s=", argv[i]);
    ask(question, argument == NULL ? "" : argument);
    printf("\n");
    fflush(stdout);
  }
  return 0;
}
