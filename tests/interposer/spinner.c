/* Wants a card's compute engine all the time, until its input ends: spinner NS. Kernels of NS
   nanoseconds, as many queued as the driver takes. Prints "spinning" once the first one ended. For
   simulated cards; knows nothing of Divvy. */
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void* library;

static void* entry(const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) _exit(3);
  return found;
}

static void must(const char* what, int status) {
  if (status == 0) return;
  fprintf(stderr, "%s: CUDA error %d\n", what, status);
  _exit(4);
}

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL) return 2;
  int (*init)(unsigned) = (int (*)(unsigned))entry("cuInit");
  int (*create)(void**, unsigned, int) = (int (*)(void**, unsigned, int))entry("cuCtxCreate_v2");
  int (*load)(void**, const void*) = (int (*)(void**, const void*))entry("cuModuleLoadData");
  int (*get)(void**, void*, const char*) =
      (int (*)(void**, void*, const char*))entry("cuModuleGetFunction");
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**) =
      (int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
               void**, void**))entry("cuLaunchKernel");
  int (*wait)(void) = (int (*)(void))entry("cuCtxSynchronize");
  void* context = NULL;
  void* module = NULL;
  void* work = NULL;
  unsigned long long ns = strtoull(argv[1], NULL, 10);
  void* params[] = {&ns};
  must("cuInit", init(0));
  must("cuCtxCreate", create(&context, 0, 0));
  must("cuModuleLoadData", load(&module, "simgpu-builtin 1\nkernel work = spin\n"));
  must("cuModuleGetFunction", get(&work, module, "work"));
  struct pollfd input = {STDIN_FILENO, POLLIN, 0};
  for (int first = 1; poll(&input, 1, 0) == 0; first = 0) {
    must("cuLaunchKernel", launch(work, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    if (!first) continue;
    must("cuCtxSynchronize", wait());
    puts("spinning");
    fflush(stdout);
  }
  _exit(0); /* what is queued ends with us */
}
