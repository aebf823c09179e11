// Where data lives: constants, globals, dynamic shared memory, bytes of any alignment.
// nvcc: compute_75 unoptimized

__constant__ unsigned memory_primes[16] = {2,  3,  5,  7,  11, 13, 17, 19,
                                           23, 29, 31, 37, 41, 43, 47, 53};
__constant__ float memory_weights[8];  // set by the host
struct MemoryRule {
  unsigned char from;
  unsigned short add;
  unsigned mask;
  double scale;
};
__constant__ MemoryRule memory_rules[3] = {
    {1, 1000, 0xff00ff00u, 0.5}, {7, 65535, 0x0f0f0f0fu, -2.25}, {200, 1, 0xffffffffu, 1e10}};

extern "C" __global__ void constantTables(const unsigned* in, float* out, double* scaled) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned prime = memory_primes[in[i] % 16];
  const MemoryRule rule = memory_rules[in[i] % 3];
  out[i] = static_cast<float>(in[i] % prime) * memory_weights[in[i] % 8];
  scaled[i] = rule.scale * ((in[i] + rule.from + rule.add) & rule.mask);
}

__device__ int memory_counter = 40;
__device__ long long memory_cells[4] = {-1, 2, -3, 4};
__device__ double memory_real = 2.5;
__device__ unsigned char memory_text[] = "the quick brown fox";
__device__ int* memory_pointer = &memory_counter;
__device__ long long* memory_second = &memory_cells[2];

extern "C" __global__ void globalVariables(const int* in, long long* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(memory_pointer, in[i] & 0xff);
  out[i] = memory_cells[i % 4] * in[i] + memory_text[i % 19] + *memory_second +
           static_cast<long long>(memory_real * 4.0);
}
// What one launch leaves, the next one finds.
extern "C" __global__ void globalVariablesAgain(int* out) {
  memory_cells[threadIdx.x] += memory_counter;
  out[threadIdx.x] = memory_counter + static_cast<int>(threadIdx.x);
}

extern __shared__ unsigned char dynamic_shared[];

// Dynamic shared memory, cut into parts of several types, beside a static array.
extern "C" __global__ void dynamicShared(const float* in, const short* shorts, float* out) {
  __shared__ float fixed[64];
  float* const floats = reinterpret_cast<float*>(dynamic_shared);
  short* const small = reinterpret_cast<short*>(dynamic_shared + blockDim.x * sizeof(float));
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  floats[threadIdx.x] = in[i];
  small[blockDim.x - 1 - threadIdx.x] = shorts[i];
  fixed[threadIdx.x] = in[i] * 2.0f;
  __syncthreads();
  const unsigned mirror = blockDim.x - 1 - threadIdx.x;
  out[i] = floats[mirror] + static_cast<float>(small[threadIdx.x]) - fixed[mirror / 2];
}

// The same words seen as other types.
union MemoryView {
  double real;
  unsigned long long word;
  unsigned half[2];
  unsigned short quarter[4];
  unsigned char byte[8];
};
extern "C" __global__ void unionCasts(const double* in, unsigned long long* out, float* floats) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  MemoryView view;
  view.real = in[i];
  view.quarter[1] ^= 0x5aa5;
  view.byte[i % 8] += 3;
  out[i] = view.word * 3 + view.half[i % 2];
  const unsigned bits = (view.half[1] & 0x807fffffu) | 0x3f000000u;
  floats[i] = __uint_as_float(bits) + __int_as_float(0x3f800000);
}

// Copies between places of different alignment, a byte at a time and a word where it fits.
extern "C" __global__ void unalignedCopy(const unsigned char* in, unsigned char* out, int shift,
                                         int length) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned char* from = in + i * length + shift;
  unsigned char* to = out + i * length;
  int left = length - 8;
  while (left > 0) {
    const bool words = reinterpret_cast<unsigned long long>(from) % 4 == 0 &&
                       reinterpret_cast<unsigned long long>(to) % 4 == 0 && left >= 4;
    if (words) {
      *reinterpret_cast<unsigned*>(to) = *reinterpret_cast<const unsigned*>(from);
    } else {
      *to = *from;
    }
    const int step = words ? 4 : 1;
    from += step;
    to += step;
    left -= step;
  }
}
