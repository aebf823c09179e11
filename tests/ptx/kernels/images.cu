// Pictures and particles: floating point whose every rounding shows.

extern "C" __global__ void mandelbrot(float left, float top, float step, int limit,
                                      unsigned short* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const float real = left + static_cast<float>(x) * step;
  const float imaginary = top - static_cast<float>(y) * step;
  float a = 0.0f;
  float b = 0.0f;
  int turn = 0;
  for (; turn < limit && a * a + b * b <= 4.0f; ++turn) {
    const float next = a * a - b * b + real;
    b = 2.0f * a * b + imaginary;
    a = next;
  }
  out[y * width + x] = static_cast<unsigned short>(turn);
}

extern "C" __global__ void gameOfLife(const unsigned char* in, unsigned char* out, int width,
                                      int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int alive = 0;
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      if (dx == 0 && dy == 0) continue;
      alive += in[(y + dy + height) % height * width + (x + dx + width) % width];
    }
  }
  const unsigned char cell = in[y * width + x];
  out[y * width + x] = alive == 3 || (alive == 2 && cell != 0);
}

// One step of bodies that attract each other.
extern "C" __global__ void bodyStep(const float4* bodies, const float4* speeds, float4* moved,
                                    float4* changed, int count, float step) {
  __shared__ float4 tile[64];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 me = i < count ? bodies[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  float ax = 0.0f;
  float ay = 0.0f;
  float az = 0.0f;
  for (int first = 0; first < count; first += 64) {
    const int other = first + static_cast<int>(threadIdx.x);
    tile[threadIdx.x] = other < count ? bodies[other] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    __syncthreads();
    for (int k = 0; k < 64; ++k) {
      const float dx = tile[k].x - me.x;
      const float dy = tile[k].y - me.y;
      const float dz = tile[k].z - me.z;
      const float square = dx * dx + dy * dy + dz * dz + 0.01f;
      const float pull = tile[k].w / (square * sqrtf(square));
      ax += dx * pull;
      ay += dy * pull;
      az += dz * pull;
    }
    __syncthreads();
  }
  if (i >= count) return;
  const float4 v = speeds[i];
  const float4 next = make_float4(v.x + ax * step, v.y + ay * step, v.z + az * step, v.w);
  changed[i] = next;
  moved[i] = make_float4(me.x + next.x * step, me.y + next.y * step, me.z + next.z * step, me.w);
}

// Blurs bytes with rounding, clamped at the rim.
extern "C" __global__ void blurBytes(const unsigned char* in, unsigned char* out, int width,
                                     int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  unsigned sum = 0;
  for (int dy = -2; dy <= 2; ++dy) {
    const int row = min(max(y + dy, 0), height - 1);
    for (int dx = -2; dx <= 2; ++dx) {
      const int column = min(max(x + dx, 0), width - 1);
      sum += in[row * width + column] * (3 - abs(dx)) * (3 - abs(dy));
    }
  }
  out[y * width + x] = static_cast<unsigned char>((sum + 40) / 81);
}

// Colours to grey and back, packed in words.
extern "C" __global__ void greyPixels(const uchar4* in, unsigned* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const uchar4 p = in[i];
  const float grey = 0.299f * p.x + 0.587f * p.y + 0.114f * p.z;
  const unsigned level = static_cast<unsigned>(grey + 0.5f);
  out[i] = level | level << 8 | level << 16 | static_cast<unsigned>(p.w) << 24;
}

// Cellular automaton by bits: every thread a word, its neighbours through shuffles.
extern "C" __global__ void automaton(const unsigned* in, unsigned* out, int turns, unsigned rule) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned cells = in[i];
  for (int turn = 0; turn < turns; ++turn) {
    const unsigned before = __shfl_sync(0xffffffffu, cells, threadIdx.x + 31);
    const unsigned after = __shfl_sync(0xffffffffu, cells, threadIdx.x + 1);
    const unsigned left = cells << 1 | before >> 31;
    const unsigned right = cells >> 1 | after << 31;
    unsigned next = 0;
    for (unsigned pattern = 0; pattern < 8; ++pattern) {
      if ((rule >> pattern & 1u) == 0) continue;
      const unsigned l = (pattern & 4) != 0 ? left : ~left;
      const unsigned c = (pattern & 2) != 0 ? cells : ~cells;
      const unsigned r = (pattern & 1) != 0 ? right : ~right;
      next |= l & c & r;
    }
    cells = next;
  }
  out[i] = cells;
}
