/* An NVML with one card whose queries of memory and of processes' times do not come back while
   somebody else has the file locked that STUCK_NVML names. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

typedef struct {
  unsigned long long total, free, used;
} Memory;

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned* count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device);
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned length);
int nvmlDeviceGetName(void* device, char* name, unsigned length);
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory);
int nvmlDeviceGetProcessUtilization(void* device, void* samples, unsigned* count,
                                    unsigned long long since);

int nvmlInit_v2(void) {
  return 0;
}
int nvmlShutdown(void) {
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = (void*)(unsigned long)(index + 1);
  return 0;
}
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned length) {
  (void)device;
  snprintf(uuid, length, "GPU-00000000-0000-0000-0000-000000000001");
  return 0;
}
int nvmlDeviceGetName(void* device, char* name, unsigned length) {
  (void)device;
  snprintf(name, length, "Stuck card");
  return 0;
}

static void awaitFile(void) {
  const char* name = getenv("STUCK_NVML");
  const int file = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  flock(file, LOCK_SH);
  close(file);
}

int nvmlDeviceGetProcessUtilization(void* device, void* samples, unsigned* count,
                                    unsigned long long since) {
  (void)device;
  (void)samples;
  (void)since;
  awaitFile();
  *count = 0;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  (void)device;
  awaitFile();
  memory->total = 8ull << 30;
  memory->free = 7ull << 30;
  memory->used = 1ull << 30;
  return 0;
}
