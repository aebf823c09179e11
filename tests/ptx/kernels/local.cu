// Arrays and structures that live in a thread's own memory.
// nvcc: compute_75 unoptimized

extern "C" __global__ void insertionSort(const int* in, int* out) {
  int values[16];
  const int base = (blockIdx.x * blockDim.x + threadIdx.x) * 16;
  for (int i = 0; i < 16; ++i) values[i] = in[base + i];
  for (int i = 1; i < 16; ++i) {
    const int moved = values[i];
    int at = i;
    for (; at > 0 && values[at - 1] > moved; --at) values[at] = values[at - 1];
    values[at] = moved;
  }
  for (int i = 0; i < 16; ++i) out[base + i] = values[i];
}

extern "C" __global__ void dynamicIndex(const unsigned* in, unsigned* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  unsigned char deck[64];
  for (int k = 0; k < 64; ++k) deck[k] = static_cast<unsigned char>(k * 5 + 1);
  unsigned state = in[i];
  for (int k = 63; k > 0; --k) {
    state = state * 1664525u + 1013904223u;
    const int other = state >> 16 & 63;
    const unsigned char kept = deck[k];
    deck[k] = deck[other];
    deck[other] = kept;
  }
  unsigned hash = 0;
  for (int k = 0; k < 64; ++k) hash = hash * 31 + deck[(k * 7 + state) & 63];
  out[i] = hash;
}

struct LocalRecord {
  short key;
  char tag;
  double weight;
  long long count;
};

extern "C" __global__ void localRecords(const int* in, double* weights, long long* counts) {
  LocalRecord records[5];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 5; ++k) {
    records[k].key = static_cast<short>(in[i] * (k + 1));
    records[k].tag = static_cast<char>(in[i] >> k);
    records[k].weight = in[i] * 0.5 + k;
    records[k].count = static_cast<long long>(in[i]) * in[i] * k;
  }
  const int chosen = (in[i] & 0x7fffffff) % 5;
  LocalRecord& other = records[(chosen + 2) % 5];
  other.weight += records[chosen].weight * records[chosen].tag;
  other.count -= records[chosen].key;
  weights[i] = records[0].weight + records[2].weight * 3.0 + records[4].weight;
  counts[i] = records[1].count ^ records[3].count ^ other.count;
}

// A stack machine: the program and the stack are indexed by data.
extern "C" __global__ void stackMachine(const unsigned char* program, int length, const int* in,
                                        int* out) {
  int stack[12];
  int top = 0;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  stack[top++] = in[i];
  for (int at = 0; at < length; ++at) {
    const unsigned code = program[at];
    if (code < 100 && top < 12) {
      stack[top++] = code + i;
    } else if (code == 100 && top > 1) {
      stack[top - 2] += stack[top - 1];
      --top;
    } else if (code == 101 && top > 1) {
      stack[top - 2] *= stack[top - 1];
      --top;
    } else if (code == 102 && top > 1) {
      const int kept = stack[top - 1];
      stack[top - 1] = stack[top - 2];
      stack[top - 2] = kept;
    } else if (code == 103 && top > 0 && top < 12) {
      stack[top] = stack[top - 1];
      ++top;
    }
  }
  int sum = 0;
  while (top > 0) sum = sum * 7 + stack[--top];
  out[i] = sum;
}

// Eight queens by an explicit stack; each thread starts from another first column.
extern "C" __global__ void queens(int size, unsigned* solutions) {
  int columns[10];
  const int first = threadIdx.x;
  unsigned found = 0;
  columns[0] = first;
  int row = 1;
  columns[1] = -1;
  while (row > 0) {
    int column = columns[row] + 1;
    for (; column < size; ++column) {
      bool free = true;
      for (int above = 0; above < row && free; ++above) {
        const int apart = column - columns[above];
        free = apart != 0 && apart != row - above && apart != above - row;
      }
      if (free) break;
    }
    if (column == size) {
      --row;
      continue;
    }
    columns[row] = column;
    if (row == size - 1) {
      ++found;
      continue;
    }
    columns[++row] = -1;
  }
  solutions[first] = found;
}
