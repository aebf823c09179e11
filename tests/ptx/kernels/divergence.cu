// Lanes that go their own ways.
// nvcc: compute_75 unoptimized

extern "C" __global__ void collatz(const unsigned* in, unsigned* steps, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  unsigned long long n = in[i] % 100000u + 1;
  unsigned taken = 0;
  while (n != 1) {
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    ++taken;
  }
  steps[i] = taken;
}

extern "C" __global__ void greatestDivisor(const unsigned* a, const unsigned* b, unsigned* out,
                                           int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  unsigned x = a[i];
  unsigned y = b[i];
  while (y != 0) {
    const unsigned rest = x % y;
    x = y;
    y = rest;
  }
  out[i] = x;
}

extern "C" __global__ void binarySearch(const int* sorted, int size, const int* wanted, int* at,
                                        int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int low = 0;
  int high = size;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (sorted[middle] < wanted[i]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  at[i] = low < size && sorted[low] == wanted[i] ? low : ~low;
}

// Loops in loops, left and continued from within.
extern "C" __global__ void nestedBreak(const int* in, int* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int total = 0;
  for (int outer = 0; outer < 20; ++outer) {
    if ((in[i] >> outer % 8 & 1) != 0) continue;
    int inner = 0;
    for (;; ++inner) {
      if (inner > in[i] % 13 + 13) break;
      if ((inner ^ outer) % 3 == 0) continue;
      total += inner * outer;
      if (total > 4000) goto done;
    }
    if (total % 17 == 0) break;
  }
done:
  out[i] = total;
}

extern "C" __global__ void predicated(const int* in, int* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int v = in[i];
  if (v < 0) v = -v;
  if (v % 2 != 0) v += 3;
  if (v > 100 && v < 200) v *= 2;
  if (v % 5 == 0 || v % 7 == 0) v ^= 0x55;
  out[i] = v > 50 ? v - 50 : (v < 10 ? v * 10 : v);
}

// Some threads leave before the barrier; the others still meet.
extern "C" __global__ void earlyExitBarrier(const int* in, int* out) {
  __shared__ int cells[128];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  cells[threadIdx.x] = in[i];
  __syncthreads();
  if (threadIdx.x % 3 == 1) return;
  const int neighbour = cells[(threadIdx.x + 1) % blockDim.x];
  __syncthreads();
  cells[threadIdx.x] = neighbour * 2;
  __syncthreads();
  const int other = threadIdx.x % 3 == 0 ? (threadIdx.x + 2) % 126 : (threadIdx.x + 1) % 126;
  out[i] = cells[threadIdx.x] + cells[other];
}

// Primes by trial division: every lane a different number of turns.
extern "C" __global__ void countPrimes(unsigned first, unsigned* found, unsigned char* is_prime) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned n = first + i;
  bool prime = n > 1;
  for (unsigned d = 2; d * d <= n && prime; ++d) prime = n % d != 0;
  is_prime[i] = prime;
  if (prime) atomicAdd(found, 1u);
}

// A loop whose trips differ, with a vote of the whole warp in each.
extern "C" __global__ void voteLoop(const unsigned* in, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned left = in[i] % 23;
  unsigned rounds = 0;
  while (__any_sync(0xffffffffu, left != 0)) {
    if (left != 0) {
      --left;
      rounds += __popc(left) + 1;
    }
    rounds += 100;
  }
  out[i] = rounds;
}
