/* Drivers of a few entry points, older and newer than any that the simulated one pretends to be.
   TINY_LOOKUP: 0 none, 1 only the first version of cuGetProcAddress, 2 only the second. */
#include <stddef.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { kSuccess = 0, kInvalidValue = 1, kNotFound = 500 };

EXPORT int cuInit(unsigned flags) {
  return flags == 0 ? kSuccess : kInvalidValue;
}
EXPORT int cuDriverGetVersion(int* version) {
  *version = 11020;
  return kSuccess;
}
EXPORT int cuDeviceGetCount(int* count) {
  *count = 1;
  return kSuccess;
}
EXPORT int cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  if (free_bytes == NULL || total == NULL) return kInvalidValue;
  *free_bytes = 7;
  *total = 9;
  return kSuccess;
}

#if TINY_LOOKUP != 0
/* Not exported, as some of a real driver's functions are not. */
static int memory_info_internal(size_t* free_bytes, size_t* total) {
  return cuMemGetInfo_v2(free_bytes, total);
}
static int of_the_future(void) {
  return 4711;
}

static void* find(const char* name) {
  if (strcmp(name, "cuInit") == 0) return (void*)cuInit;
  if (strcmp(name, "cuMemGetInfo") == 0) return (void*)memory_info_internal;
  if (strcmp(name, "cuOfTheFuture") == 0) return (void*)of_the_future;
  return NULL;
}
#endif
#if TINY_LOOKUP == 1
EXPORT int cuGetProcAddress(const char* name, void** out, int version, unsigned long long flags) {
  (void)version, (void)flags;
  *out = find(name);
  return *out != NULL ? kSuccess : kNotFound;
}
#elif TINY_LOOKUP == 2
EXPORT int cuGetProcAddress_v2(const char* name, void** out, int version, unsigned long long flags,
                               int* status) {
  (void)version, (void)flags;
  *out = find(name);
  if (status != NULL) *status = *out != NULL ? 0 : 1;
  return kSuccess;
}
#endif
