/* Holds memory of a CUDA device until it is killed: cuda_holder ORDINAL BYTES. Prints
   "status UUID" once it has it. Knows nothing of Divvy. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void* library;

static int call3(const char* name, void* a, size_t b, size_t c) {
  int (*entry)(void*, size_t, size_t) = (int (*)(void*, size_t, size_t))dlsym(library, name);
  return entry == NULL ? 500 : entry(a, b, c);
}

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL) {
    printf("-1 %s\n", dlerror());
    return 2;
  }
  int device = -1;
  unsigned char uuid[16] = {0};
  void* context = NULL;
  unsigned long long address = 0;
  int status = call3("cuInit", NULL, 0, 0);
  if (status == 0) status = call3("cuDeviceGet", &device, (size_t)atoi(argv[1]), 0);
  if (status == 0) status = call3("cuDeviceGetUuid", uuid, (size_t)device, 0);
  if (status == 0) status = call3("cuDevicePrimaryCtxRetain", &context, (size_t)device, 0);
  if (status == 0) status = call3("cuCtxSetCurrent", context, 0, 0);
  if (status == 0) status = call3("cuMemAlloc_v2", &address, strtoull(argv[2], NULL, 10), 0);
  printf("%d GPU-", status);
  for (int i = 0; i < 16; ++i)
    printf("%02x%s", uuid[i], i == 3 || i == 5 || i == 7 || i == 9 ? "-" : "");
  printf("\n");
  fflush(stdout);
  for (;;) pause();
}
