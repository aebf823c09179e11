// Takes BYTES of device memory in one piece, then one piece more than is left, and says what the
// driver answered each time.
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: greedy BYTES\n");
    return 2;
  }
  const size_t wanted = strtoull(argv[1], NULL, 10);
  const struct Driver cu = openDriver();
  size_t free_bytes = 0, total = 0, left = 0;
  CUdeviceptr pointer = 0;
  must(cu.memGetInfo(&free_bytes, &total), "cuMemGetInfo");
  const CUresult beyond = cu.memAlloc(&pointer, wanted);
  const CUresult over_free = cu.memAlloc(&pointer, free_bytes + 1);
  must(cu.memGetInfo(&left, &total), "cuMemGetInfo");
  const CUresult modest = cu.memAlloc(&pointer, 64 << 20);
  printf(
      "{\"total\": %zu, \"free\": %zu, \"wanted\": %zu, \"beyond_code\": %d, "
      "\"over_free_code\": %d, \"left\": %zu, \"modest_code\": %d}\n",
      total, free_bytes, wanted, beyond, over_free, left, modest);
  return 0;
}
