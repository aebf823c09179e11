// Prefix sums of a block, and what is built on them.
// nvcc: compute_75 unoptimized

constexpr int kScanBlock = 128;

// Hillis and Steele: inclusive, two buffers.
extern "C" __global__ void scanHillisSteele(const int* in, int* out) {
  __shared__ int buffers[2][kScanBlock];
  const int t = threadIdx.x;
  int from = 0;
  buffers[0][t] = in[blockIdx.x * kScanBlock + t];
  __syncthreads();
  for (int offset = 1; offset < kScanBlock; offset *= 2) {
    const int value = buffers[from][t];
    buffers[1 - from][t] = t >= offset ? value + buffers[from][t - offset] : value;
    from = 1 - from;
    __syncthreads();
  }
  out[blockIdx.x * kScanBlock + t] = buffers[from][t];
}

// Blelloch: exclusive, up-sweep and down-sweep in place, two elements a thread.
extern "C" __global__ void scanBlelloch(const unsigned* in, unsigned* out) {
  __shared__ unsigned tree[2 * kScanBlock];
  const unsigned t = threadIdx.x;
  const unsigned base = blockIdx.x * 2 * kScanBlock;
  tree[2 * t] = in[base + 2 * t];
  tree[2 * t + 1] = in[base + 2 * t + 1];
  unsigned offset = 1;
  for (unsigned pairs = kScanBlock; pairs > 0; pairs >>= 1) {
    __syncthreads();
    if (t < pairs) {
      tree[offset * (2 * t + 2) - 1] += tree[offset * (2 * t + 1) - 1];
    }
    offset *= 2;
  }
  if (t == 0) tree[2 * kScanBlock - 1] = 0;
  for (unsigned pairs = 1; pairs <= kScanBlock; pairs *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < pairs) {
      const unsigned left = offset * (2 * t + 1) - 1;
      const unsigned right = offset * (2 * t + 2) - 1;
      const unsigned kept = tree[left];
      tree[left] = tree[right];
      tree[right] += kept;
    }
  }
  __syncthreads();
  out[base + 2 * t] = tree[2 * t];
  out[base + 2 * t + 1] = tree[2 * t + 1];
}

// Keeps the elements above a bound, in order; returns how many.
extern "C" __global__ void compactPrefix(const int* in, int* out, int* kept, int bound) {
  __shared__ int places[kScanBlock];
  const int t = threadIdx.x;
  const int value = in[blockIdx.x * kScanBlock + t];
  const int flag = value > bound ? 1 : 0;
  places[t] = flag;
  __syncthreads();
  for (int offset = 1; offset < kScanBlock; offset <<= 1) {
    const int before = t >= offset ? places[t - offset] : 0;
    __syncthreads();
    places[t] += before;
    __syncthreads();
  }
  if (flag) out[blockIdx.x * kScanBlock + places[t] - 1] = value;
  if (t == kScanBlock - 1) kept[blockIdx.x] = places[t];
}

// Sums that start anew where a flag stands.
extern "C" __global__ void scanSegmented(const int* in, const unsigned char* heads, int* out) {
  __shared__ int sums[kScanBlock];
  __shared__ unsigned char starts[kScanBlock];
  const int t = threadIdx.x;
  sums[t] = in[blockIdx.x * kScanBlock + t];
  starts[t] = heads[blockIdx.x * kScanBlock + t];
  __syncthreads();
  for (int offset = 1; offset < kScanBlock; offset *= 2) {
    int sum = sums[t];
    unsigned char start = starts[t];
    if (t >= offset && !start) {
      sum += sums[t - offset];
      start = starts[t - offset];
    }
    __syncthreads();
    sums[t] = sum;
    starts[t] = start;
    __syncthreads();
  }
  out[blockIdx.x * kScanBlock + t] = sums[t];
}
