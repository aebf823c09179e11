// Shapes of grids and blocks, and the barriers that count.
// nvcc: compute_75 unoptimized

extern "C" __global__ void gridThreeDimensions(unsigned* out) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
  const unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
  const unsigned width = gridDim.x * blockDim.x;
  const unsigned height = gridDim.y * blockDim.y;
  out[(z * height + y) * width + x] =
      x | y << 8 | z << 16 | (threadIdx.x ^ threadIdx.y ^ threadIdx.z) << 24;
}

// Neighbours in a block of three dimensions, by the linear order of its threads.
extern "C" __global__ void blockThreeDimensions(const int* in, int* out) {
  __shared__ int cells[4][3][10];
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const int z = threadIdx.z;
  const int linear = (z * blockDim.y + y) * blockDim.x + x;
  const int base = blockIdx.x * blockDim.x * blockDim.y * blockDim.z;
  cells[z][y][x] = in[base + linear];
  __syncthreads();
  const int next_x = cells[z][y][(x + 1) % 10];
  const int next_y = cells[z][(y + 1) % 3][x];
  const int next_z = cells[(z + 1) % 4][y][x];
  const int lane_sum = linear < 96 ? __shfl_xor_sync(0xffffffffu, cells[z][y][x], 1) : 0;
  out[base + linear] = next_x * 2 + next_y * 3 + next_z * 5 + lane_sum;
}

extern "C" __global__ void barrierCounts(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int count = __syncthreads_count(in[i] > 0);
  const int all = __syncthreads_and(in[i] > -100);
  const int any = __syncthreads_or(in[i] > 97);
  out[i] = count * 4 + (all != 0) * 2 + (any != 0);
}

// A loop of barriers until the whole block agrees that nothing moves any more.
extern "C" __global__ void barrierUntilStable(const int* in, int* out, int* turns) {
  __shared__ int cells[96];
  const int t = threadIdx.x;
  cells[t] = in[blockIdx.x * 96 + t];
  int turn = 0;
  bool moved = true;
  bool swapped = false;
  __syncthreads();
  while (__syncthreads_or(moved)) {
    moved = false;
    const int first = 2 * (t / 2) + turn % 2;
    const bool swap = t == first && t + 1 < 96 && cells[t] > cells[t + 1];
    if (swap) {
      const int kept = cells[t];
      cells[t] = cells[t + 1];
      cells[t + 1] = kept;
    }
    ++turn;
    // A turn without a swap says nothing about the other parity: two in a row do.
    moved = swap || swapped || turn < 2;
    swapped = swap;
    __syncthreads();
  }
  out[blockIdx.x * 96 + t] = cells[t];
  if (t == 0) turns[blockIdx.x] = turn;
}

// Every block writes the numbers it is given.
extern "C" __global__ void specialNumbers(unsigned* out) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned per_block = blockDim.x * blockDim.y * blockDim.z;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  unsigned* const cell = out + (block * per_block + thread) * 4;
  cell[0] = gridDim.x * 10000 + gridDim.y * 100 + gridDim.z;
  cell[1] = blockDim.x * 10000 + blockDim.y * 100 + blockDim.z;
  cell[2] = blockIdx.x * 10000 + blockIdx.y * 100 + blockIdx.z;
  cell[3] = threadIdx.x * 10000 + threadIdx.y * 100 + threadIdx.z + warpSize * 1000000;
}

// Threads of one warp hand values on through shared memory, a warp barrier between.
extern "C" __global__ void warpBarrier(const int* in, int* out) {
  __shared__ int cells[4][32];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  cells[warp][lane] = in[i];
  __syncwarp();
  int value = cells[warp][lane ^ 5];
  __syncwarp();
  cells[warp][31 - lane] = value * 3;
  __syncwarp();
  out[i] = cells[warp][lane] + value;
}
