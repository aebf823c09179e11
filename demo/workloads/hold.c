// Takes BYTES of device memory, says so, and keeps them until its input ends or it is killed.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "driver.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: hold BYTES\n");
    return 2;
  }
  const struct Driver cu = openDriver();
  const size_t bytes = strtoull(argv[1], NULL, 10);
  size_t free_bytes = 0, total = 0;
  CUdeviceptr pointer = 0;
  must(cu.memAlloc(&pointer, bytes), "cuMemAlloc");
  must(cu.memGetInfo(&free_bytes, &total), "cuMemGetInfo");
  printf("{\"pid\": %d, \"held\": %zu, \"free\": %zu, \"total\": %zu}\n", (int)getpid(), bytes,
         free_bytes, total);
  fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  must(cu.memFree(pointer), "cuMemFree");
  return 0;
}
