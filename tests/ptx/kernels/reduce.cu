// Reductions over a block: a tree in shared memory, warp shuffles, and both.
// nvcc: compute_75 unoptimized

constexpr int kReduceBlock = 128;

extern "C" __global__ void reduceShared(const int* in, int* out, int count) {
  __shared__ int tree[kReduceBlock];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tree[threadIdx.x] = i < count ? in[i] : 0;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) tree[threadIdx.x] += tree[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = tree[0];
}

static __device__ float warpSum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  return value;
}

// Floating-point sums in a fixed order: the same tree everywhere.
extern "C" __global__ void reduceShuffleDown(const float* in, float* out, int count) {
  __shared__ float partial[32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  float value = warpSum(i < count ? in[i] : 0.0f);
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = lane < blockDim.x / 32 ? partial[lane] : 0.0f;
    value = warpSum(value);
    if (lane == 0) out[blockIdx.x] = value;
  }
}

extern "C" __global__ void reduceShuffleXor(const double* in, double* out) {
  double value = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(0xffffffffu, value, mask);
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;  // every lane has the whole sum
}

// The last warp of the block is not full: its mask names only the lanes that are there.
extern "C" __global__ void reducePartialWarp(const int* in, int* out) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned first = threadIdx.x - lane;
  const unsigned lanes = blockDim.x - first < 32 ? blockDim.x - first : 32;
  const unsigned mask = lanes == 32 ? 0xffffffffu : (1u << lanes) - 1;
  int value = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (unsigned offset = 16; offset > 0; offset /= 2) {
    const int other = __shfl_down_sync(mask, value, offset);
    if (lane + offset < lanes) value += other;
  }
  if (lane == 0) out[blockIdx.x * ((blockDim.x + 31) / 32) + threadIdx.x / 32] = value;
}

// Smallest value and the first place where it stands.
extern "C" __global__ void argMin(const float* in, float* least, int* place, int count) {
  __shared__ float values[kReduceBlock];
  __shared__ int places[kReduceBlock];
  float best = 3.0e38f;
  int where = -1;
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    if (in[i] < best) {
      best = in[i];
      where = i;
    }
  }
  values[threadIdx.x] = best;
  places[threadIdx.x] = where;
  __syncthreads();
  for (int half = kReduceBlock / 2; half > 0; half >>= 1) {
    if (static_cast<int>(threadIdx.x) < half) {
      const float other = values[threadIdx.x + half];
      const int at = places[threadIdx.x + half];
      const bool earlier = other == values[threadIdx.x] && at < places[threadIdx.x];
      if (at >= 0 && (other < values[threadIdx.x] || earlier)) {
        values[threadIdx.x] = other;
        places[threadIdx.x] = at;
      }
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    *least = values[0];
    *place = places[0];
  }
}

// The last block to finish adds up what the blocks left: fences and a ticket.
__device__ unsigned reduce_tickets = 0;

extern "C" __global__ void reduceLastBlock(const unsigned* in, volatile unsigned* partial,
                                           unsigned* total, int count) {
  __shared__ unsigned sum;
  __shared__ bool last;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicAdd(&sum, in[i]);
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(&reduce_tickets, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    unsigned all = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) all += partial[b];
    *total = all;
  }
}
