// What the lanes of a warp tell each other: shuffles, votes, matches.
// nvcc: compute_75 unoptimized

extern "C" __global__ void shuffleUpScan(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int lane = threadIdx.x % 32;
  int value = in[i];
  for (int offset = 1; offset < 32; offset *= 2) {
    const int before = __shfl_up_sync(0xffffffffu, value, offset);
    if (lane >= offset) value += before;
  }
  out[i] = value;
}

// Rotation within segments of 8 lanes; a lane index taken modulo the width.
extern "C" __global__ void shuffleRotate(const unsigned* in, unsigned* out, int by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned value = in[i];
  const unsigned in_eight = __shfl_sync(0xffffffffu, value, threadIdx.x + by, 8);
  const unsigned broadcast = __shfl_sync(0xffffffffu, value, 5);
  const unsigned up = __shfl_up_sync(0xffffffffu, value, 3, 16);
  const unsigned down = __shfl_down_sync(0xffffffffu, value, 3, 16);
  const unsigned crossed = __shfl_xor_sync(0xffffffffu, value, 9, 16);
  out[i] = in_eight ^ (broadcast << 1) ^ (up << 2) ^ (down << 3) ^ (crossed << 4);
}

extern "C" __global__ void shuffleWide(const unsigned long long* in, const double* reals,
                                       unsigned long long* out, double* out_reals) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = __shfl_xor_sync(0xffffffffu, in[i], 31);
  out_reals[i] = __shfl_sync(0xffffffffu, reals[i], 31 - threadIdx.x % 32);
}

extern "C" __global__ void voteAnyAll(const int* in, int* any, int* all, unsigned* ballot) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  any[i] = __any_sync(0xffffffffu, in[i] > 90) != 0;
  all[i] = __all_sync(0xffffffffu, in[i] > -90) != 0;
  ballot[i] = __ballot_sync(0xffffffffu, in[i] & 1);
}

// Lanes of the two sides of a branch vote among themselves.
extern "C" __global__ void voteDivergent(const int* in, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool odd = threadIdx.x % 2 != 0;
  unsigned result;
  if (odd) {
    result = __ballot_sync(0xaaaaaaaau, in[i] > 0);
    __syncwarp(0xaaaaaaaau);
    result += __popc(__ballot_sync(0xaaaaaaaau, in[i] > 50));
  } else {
    result = __ballot_sync(0x55555555u, in[i] <= 0) * 3;
  }
  __syncwarp();
  out[i] = result + __shfl_xor_sync(0xffffffffu, result, 1);
}

extern "C" __global__ void ballotCompact(const int* in, int* out, int* kept) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned lane = threadIdx.x % 32;
  const bool keep = in[i] % 3 == 0;
  const unsigned votes = __ballot_sync(0xffffffffu, keep);
  const int place = __popc(votes & ((1u << lane) - 1));
  if (keep) out[i - lane + place] = in[i];
  if (lane == 0) kept[i / 32] = __popc(votes);
}

extern "C" __global__ void matchAny(const unsigned* in, const unsigned long long* wide,
                                    unsigned* out, unsigned* out_wide) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = __match_any_sync(0xffffffffu, in[i] % 5);
  out_wide[i] = __match_any_sync(0xffffffffu, wide[i] % 7);
}

extern "C" __global__ void matchAll(const unsigned* in, unsigned* out, int* same) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int agreed = 7;
  out[i] = __match_all_sync(0xffffffffu, in[i], &agreed);
  same[i] = agreed != 0;
}

// Only what holds however the lanes are grouped: a lane is active while it asks.
extern "C" __global__ void activeMaskSelf(unsigned* out, unsigned* counter) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned active = __activemask();
  out[blockIdx.x * blockDim.x + threadIdx.x] = active >> lane & 1u;
  if (lane % 4 == 1) atomicAdd(counter, lane);
}
