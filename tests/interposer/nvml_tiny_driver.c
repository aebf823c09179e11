/* A libnvidia-ml.so.1 of a dozen functions and two cards, linked without symbolic binding: its
   functions call each other under their public names, so that with a preloaded library every such
   call goes out and comes back. It lacks everything newer, as an old driver does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvmlDevice_st* nvmlDevice_t;
typedef struct {
  unsigned long long total, free, used;
} nvmlMemory_t;

enum { kOk = 0, kUninitialized = 1, kInvalid = 2, kNotFound = 6, kInsufficientSize = 7 };
enum { kCards = 2 };

static int references;
static char cards[kCards];

static const char* const uuids[kCards] = {"GPU-00000000-0000-4000-8000-00000000000a",
                                          "GPU-00000000-0000-4000-8000-00000000000b"};

int nvmlInitWithFlags(unsigned int flags) {
  (void)flags;
  ++references;
  return kOk;
}

int nvmlInit_v2(void) {
  return nvmlInitWithFlags(0);
}

int nvmlShutdown(void) {
  if (references == 0) return kUninitialized;
  --references;
  return kOk;
}

const char* nvmlErrorString(int error) {
  return error == kOk ? "Success" : "tiny failure";
}

int nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  if (references == 0) return kUninitialized;
  if (length < sizeof "1.0-tiny") return kInsufficientSize;
  strcpy(version, "1.0-tiny");
  return kOk;
}

int nvmlDeviceGetCount_v2(unsigned int* count) {
  if (references == 0) return kUninitialized;
  if (count == NULL) return kInvalid;
  *count = kCards;
  return kOk;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device) {
  unsigned int count = 0;
  int result = nvmlDeviceGetCount_v2(&count); /* a public name */
  if (result != kOk) return result;
  if (index >= count || device == NULL) return kInvalid;
  *device = (nvmlDevice_t)&cards[index];
  return kOk;
}

int nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int* index) {
  if (references == 0) return kUninitialized;
  long offset = (char*)device - cards;
  if (offset < 0 || offset >= kCards) return kInvalid;
  *index = (unsigned int)offset;
  return kOk;
}

int nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned int length) {
  unsigned int index = 0;
  int result = nvmlDeviceGetIndex(device, &index); /* a public name */
  if (result != kOk) return result;
  if (length < 41) return kInsufficientSize;
  strcpy(uuid, uuids[index]);
  return kOk;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  if (uuid == NULL || device == NULL) return kInvalid;
  unsigned int count = 0;
  int result = nvmlDeviceGetCount_v2(&count); /* public names, all three */
  for (unsigned int i = 0; result == kOk && i < count; ++i) {
    nvmlDevice_t candidate;
    char known[80];
    result = nvmlDeviceGetHandleByIndex_v2(i, &candidate);
    if (result == kOk) result = nvmlDeviceGetUUID(candidate, known, sizeof known);
    if (result == kOk && strcmp(known, uuid) == 0) {
      *device = candidate;
      return kOk;
    }
  }
  return result == kOk ? kNotFound : result;
}

int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  unsigned int index = 0;
  int result = nvmlDeviceGetIndex(device, &index); /* a public name */
  if (result != kOk) return result;
  if (memory == NULL) return kInvalid;
  memory->total = 1000ull * (index + 1);
  memory->free = 400;
  memory->used = memory->total - memory->free;
  return kOk;
}
