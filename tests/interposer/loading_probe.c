/* A program that knows nothing of Divvy and tells what it met, as key=value lines.
   usage: loading_probe WORD ARGUMENT */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int (*InitFn)(unsigned);
typedef int (*CountFn)(int*);
typedef int (*TotalFn)(size_t*, int);
typedef void* (*OpenFn)(const char*);

static void tell_driver(void* library) {
  int count = -1;
  size_t total = 0;
  InitFn init = (InitFn)dlsym(library, "cuInit");
  CountFn get_count = (CountFn)dlsym(library, "cuDeviceGetCount");
  TotalFn get_total = (TotalFn)dlsym(library, "cuDeviceTotalMem_v2");
  printf("divvy=%d\n", dlsym(library, "divvy_control") != NULL);
  printf("same_twice=%d\n", (void*)init == dlsym(library, "cuInit") && init != NULL);
  printf("init=%d\n", init(0));
  printf("count=%d\n", get_count(&count) == 0 ? count : -1);
  printf("total=%zu\n", get_total(&total, 0) == 0 ? total : 0);
}

static int open_driver(const char* name, int flags) {
  void* library = dlopen(name, flags);
  printf("opened=%d\n", library != NULL);
  if (library == NULL) {
    printf("error=%s\n", dlerror());
    return 0;
  }
  tell_driver(library);
  return 0;
}

/* Opens a library that opens another one by a name that only its own RUNPATH finds. */
static int open_by_runpath(const char* caller) {
  void* library = dlopen(caller, RTLD_NOW);
  OpenFn open_private = library == NULL ? NULL : (OpenFn)dlsym(library, "open_private");
  void* found = open_private == NULL ? NULL : open_private("libprobe-private.so");
  printf("found=%d\n", found != NULL);
  if (found == NULL) printf("error=%s\n", dlerror());
  return 0;
}

/* A plug-in with its own scope that opens the driver by name. */
static int open_deep(const char* plugin) {
  void* library = dlopen(plugin, RTLD_NOW | RTLD_DEEPBIND);
  OpenFn open_private = library == NULL ? NULL : (OpenFn)dlsym(library, "open_private");
  void* driver = open_private == NULL ? NULL : open_private("libcuda.so.1");
  printf("opened=%d\n", driver != NULL);
  if (driver != NULL) tell_driver(driver);
  return 0;
}

/* A process that never calls the driver: what of us is in it? */
static int idle(void) {
  char line[512];
  int drivers = 0, pages = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    drivers += strstr(line, "simgpu") != NULL;
    pages += strstr(line, "/control") != NULL || strstr(line, "/report") != NULL;
  }
  printf("drivers=%d\npages=%d\n", drivers, pages);
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  if (strcmp(argv[1], "open") == 0) return open_driver(argv[2], RTLD_NOW);
  if (strcmp(argv[1], "open-deep") == 0) return open_driver(argv[2], RTLD_NOW | RTLD_DEEPBIND);
  if (strcmp(argv[1], "plugin-deep") == 0) return open_deep(argv[2]);
  if (strcmp(argv[1], "runpath") == 0) return open_by_runpath(argv[2]);
  if (strcmp(argv[1], "idle") == 0) return idle();
  return 2;
}
