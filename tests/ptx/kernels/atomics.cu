// Atomic operations whose outcome does not depend on who comes first.
// nvcc: compute_75 unoptimized

extern "C" __global__ void histogramShared(const unsigned char* in, unsigned* bins, int count) {
  __shared__ unsigned local[256];
  for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) local[bin] = 0;
  __syncthreads();
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    atomicAdd(&local[in[i]], 1u);
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) {
    if (local[bin] != 0) atomicAdd(&bins[bin], local[bin]);
  }
}

extern "C" __global__ void atomicIntegers(const int* in, int* signed_cells, unsigned* cells) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int value = in[i];
  atomicAdd(&signed_cells[0], value);
  atomicSub(&signed_cells[1], value);
  atomicMax(&signed_cells[2], value);
  atomicMin(&signed_cells[3], value);
  atomicMax(&cells[0], static_cast<unsigned>(value));
  atomicMin(&cells[1], static_cast<unsigned>(value));
  atomicAnd(&cells[2], value | 0x0f0f0000u);
  atomicOr(&cells[3], value & 0x00ffff00u);
  atomicXor(&cells[4], value);
  atomicInc(&cells[5], 16u);
  atomicDec(&cells[6], 9u);
}

// One thread alone: what each operation returns.
extern "C" __global__ void atomicReturns(const unsigned* operands, unsigned* cell, unsigned* out,
                                         int count) {
  for (int i = 0; i < count; ++i) {
    const unsigned v = operands[i];
    unsigned* const old = out + 11 * i;
    old[0] = atomicAdd(cell, v);
    old[1] = atomicSub(cell, v >> 3);
    old[2] = atomicExch(cell, v ^ 0x1234u);
    old[3] = atomicMin(cell, v);
    old[4] = atomicMax(cell, v >> 1);
    old[5] = atomicInc(cell, v);
    old[6] = atomicDec(cell, v | 3u);
    old[7] = atomicAnd(cell, v | 0xffff0000u);
    old[8] = atomicOr(cell, v & 0xffu);
    old[9] = atomicXor(cell, 0x55u);
    old[10] = atomicCAS(cell, v % 2 == 0 ? *cell : v, v * 3);
  }
}

extern "C" __global__ void atomicWide(const long long* in, unsigned long long* cells,
                                      long long* signed_cells) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned long long value = static_cast<unsigned long long>(in[i]);
  atomicAdd(&cells[0], value);
  atomicMax(&cells[1], value);
  atomicMin(&cells[2], value);
  atomicAnd(&cells[3], value | 0xff00ff00ff00ff00ull);
  atomicOr(&cells[4], value & 0x00ff00ff00ff00ffull);
  atomicXor(&cells[5], value);
  atomicMax(&signed_cells[0], in[i]);
  atomicMin(&signed_cells[1], in[i]);
}

// Small whole numbers: every order gives the same sum.
extern "C" __global__ void atomicFloats(const int* in, float* sum, double* wide_sum) {
  __shared__ float block_sum;
  __shared__ double block_wide;
  if (threadIdx.x == 0) {
    block_sum = 0.0f;
    block_wide = 0.0;
  }
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&block_sum, static_cast<float>(in[i]) * 0.5f);
  atomicAdd(&block_wide, in[i] * 0.125);
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(sum, block_sum);
    atomicAdd(wide_sum, block_wide);
  }
}

// A maximum of floats, built from compare-and-swap.
extern "C" __global__ void casLoopMax(const float* in, unsigned* cell) {
  const float mine = in[blockIdx.x * blockDim.x + threadIdx.x];
  unsigned seen = *cell;
  while (__uint_as_float(seen) < mine) {
    const unsigned before = atomicCAS(cell, seen, __float_as_uint(mine));
    if (before == seen) break;
    seen = before;
  }
}

// Complex sums in one 64-bit word, by compare-and-swap.
extern "C" __global__ void casLoopPair(const int* in, unsigned long long* cell) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long seen = *cell;
  for (;;) {
    const unsigned low = static_cast<unsigned>(seen) + in[i];
    const unsigned high = static_cast<unsigned>(seen >> 32) ^ (in[i] * 2654435761u);
    const unsigned long long wanted = static_cast<unsigned long long>(high) << 32 | low;
    const unsigned long long before = atomicCAS(cell, seen, wanted);
    if (before == seen) return;
    seen = before;
  }
}

// A list per bucket, pushed by exchange; the order differs, what is in it does not.
extern "C" __global__ void exchangeLists(const unsigned* in, int* heads, int* next, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) next[i] = atomicExch(&heads[in[i] % 8], i);
}
extern "C" __global__ void sumLists(const unsigned* in, const int* heads, const int* next,
                                    unsigned* sums) {
  unsigned sum = 0;
  for (int at = heads[threadIdx.x]; at >= 0; at = next[at]) sum += in[at];
  sums[threadIdx.x] = sum;
}
