// Choices among many: tables of jumps, chains of comparisons, machines of states.
// nvcc: compute_75 unoptimized

extern "C" __global__ void denseSwitch(const unsigned* in, const int* values, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int v = values[i];
  int result = 0;
  switch (in[i] % 14) {
    case 0:
      result = v + 1;
      break;
    case 1:
      result = v * v;
      break;
    case 2:
      result = v / 3;
      break;
    case 3:
      result = v % 11;
      break;
    case 4:
      result = v << 3;
      break;
    case 5:
      result = v >> 2;
      break;
    case 6:
      result = ~v;  // falls through
    case 7:
      result ^= 0x0f0f;
      break;
    case 8:
      result = __popc(v);
      break;
    case 9:
      result = v > 0 ? 9 : -9;
      break;
    case 10:
      result = __clz(v);
      break;
    case 11:
      result = v * 1103515245 + 12345;
      break;
    default:
      result = -1;
      break;
  }
  out[i] = result;
}

extern "C" __global__ void sparseSwitch(const unsigned* in, unsigned long long* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned keys[8] = {3u, 77u, 1000u, 65536u, 70000u, 0x7fffffffu, 0x80000000u, 0xfffffff0u};
  const unsigned key = in[i] % 3 == 0 ? in[i] : keys[in[i] % 8];
  switch (key) {
    case 3u:
      out[i] = 1;
      break;
    case 77u:
      out[i] = key * 5ull;
      break;
    case 1000u:
      out[i] = 0x123456789abcdefull;
      break;
    case 65536u:
      out[i] = key + in[i];
      break;
    case 70000u:
      out[i] = ~0ull;
      break;
    case 0x7fffffffu:
      out[i] = 42;
      break;
    case 0x80000000u:
      out[i] = static_cast<unsigned long long>(key) << 17;
      break;
    case 0xfffffff0u:
      out[i] = in[i] / 7;
      break;
    default:
      out[i] = key % 1009;
      break;
  }
}

// Words, numbers and blanks in a text, by a machine of states; a chunk of text per thread.
extern "C" __global__ void stateMachine(const char* text, int chunk, int* words, int* numbers) {
  enum State { kBlank, kWord, kNumber, kMixed } state = kBlank;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int seen_words = 0;
  int seen_numbers = 0;
  for (int k = 0; k <= chunk; ++k) {
    const char c = k < chunk ? text[i * chunk + k] : ' ';
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    switch (state) {
      case kBlank:
        state = letter ? kWord : (digit ? kNumber : kBlank);
        break;
      case kWord:
        if (digit) {
          state = kMixed;
        } else if (!letter) {
          ++seen_words;
          state = kBlank;
        }
        break;
      case kNumber:
        if (letter) {
          state = kMixed;
        } else if (!digit) {
          ++seen_numbers;
          state = kBlank;
        }
        break;
      case kMixed:
        state = letter || digit ? kMixed : kBlank;
        break;
    }
  }
  words[i] = seen_words;
  numbers[i] = seen_numbers;
}

static __device__ __noinline__ double evaluate(int operation, double a, double b) {
  switch (operation) {
    case 'a':
      return a + b;
    case 's':
      return a - b;
    case 'm':
      return a * b;
    case 'd':
      return a / b;
    case 'f':
      return floor(a);
    case 'r':
      return sqrt(fabs(b));
    case 'n':
      return -a;
    default:
      return 0.0;
  }
}
extern "C" __global__ void calledSwitch(const double* a, const double* b, double* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const char operations[9] = {'a', 's', 'm', 'd', 'f', 'r', 'n', 'z', 'a'};
  out[i] = evaluate(operations[i % 9], a[i], b[i]);
}
