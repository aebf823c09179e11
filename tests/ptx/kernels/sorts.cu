// Sorting in shared memory and between lanes.

extern "C" __global__ void bitonicShared(const int* in, int* out) {
  __shared__ int cells[256];
  const unsigned t = threadIdx.x;
  cells[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (unsigned size = 2; size <= 256; size *= 2) {
    for (unsigned apart = size / 2; apart > 0; apart /= 2) {
      const unsigned other = t ^ apart;
      if (other > t) {
        const bool rising = (t & size) == 0;
        if ((cells[t] > cells[other]) == rising) {
          const int kept = cells[t];
          cells[t] = cells[other];
          cells[other] = kept;
        }
      }
      __syncthreads();
    }
  }
  out[blockIdx.x * 256 + t] = cells[t];
}

// A warp sorts 32 floats without shared memory.
extern "C" __global__ void bitonicWarp(const float* in, float* out) {
  const unsigned lane = threadIdx.x % 32;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = in[i];
  for (unsigned size = 2; size <= 32; size *= 2) {
    for (unsigned apart = size / 2; apart > 0; apart /= 2) {
      const float other = __shfl_xor_sync(0xffffffffu, value, apart);
      const bool keep_small = ((lane & size) == 0) == ((lane & apart) == 0);
      if (keep_small ? other < value : other > value) value = other;
    }
  }
  out[i] = value;
}

// One pass of a radix sort: zeros before ones, order kept.
extern "C" __global__ void radixPass(const unsigned* in, unsigned* out, int bit) {
  __shared__ int zeros[128];
  const int t = threadIdx.x;
  const unsigned value = in[blockIdx.x * 128 + t];
  const int is_zero = (value >> bit & 1u) == 0 ? 1 : 0;
  zeros[t] = is_zero;
  __syncthreads();
  for (int offset = 1; offset < 128; offset *= 2) {
    const int before = t >= offset ? zeros[t - offset] : 0;
    __syncthreads();
    zeros[t] += before;
    __syncthreads();
  }
  const int place = is_zero ? zeros[t] - 1 : zeros[127] + t - zeros[t];
  out[blockIdx.x * 128 + place] = value;
}

// Merges two sorted halves: every thread finds its own place by search.
extern "C" __global__ void mergeRanks(const int* in, int* out, int half) {
  const int t = threadIdx.x;
  const bool second = t >= half;
  const int* const other = in + (second ? 0 : half);
  const int value = in[t];
  int low = 0;
  int high = half;
  while (low < high) {
    const int middle = (low + high) >> 1;
    const bool before = second ? other[middle] <= value : other[middle] < value;
    if (before) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  out[(second ? t - half : t) + low] = value;
}

struct SortEntry {
  float key;
  unsigned short index;
  unsigned char tag;
};

// Records sorted by key, then by index: shell sort in local memory, one list a thread.
extern "C" __global__ void shellSortRecords(const float* keys, unsigned short* order,
                                            unsigned char* tags) {
  SortEntry entries[20];
  const int base = (blockIdx.x * blockDim.x + threadIdx.x) * 20;
  for (int k = 0; k < 20; ++k) {
    entries[k] = {keys[base + k], static_cast<unsigned short>(k),
                  static_cast<unsigned char>(k * 11)};
  }
  for (int gap = 7; gap > 0; gap = gap == 7 ? 3 : (gap == 3 ? 1 : 0)) {
    for (int k = gap; k < 20; ++k) {
      const SortEntry moved = entries[k];
      int at = k;
      while (at >= gap &&
             (entries[at - gap].key > moved.key ||
              (entries[at - gap].key == moved.key && entries[at - gap].index > moved.index))) {
        entries[at] = entries[at - gap];
        at -= gap;
      }
      entries[at] = moved;
    }
  }
  for (int k = 0; k < 20; ++k) {
    order[base + k] = entries[k].index;
    tags[base + k] = entries[k].tag;
  }
}
