// Dense and sparse matrices, and grids that look like them.

constexpr int kTile = 16;

extern "C" __global__ void matmulTiled(const float* a, const float* b, float* c, int n) {
  __shared__ float left[kTile][kTile];
  __shared__ float right[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0f;
  for (int tile = 0; tile < (n + kTile - 1) / kTile; ++tile) {
    const int k = tile * kTile;
    const bool in_left = row < n && k + threadIdx.x < n;
    const bool in_right = column < n && k + threadIdx.y < n;
    left[threadIdx.y][threadIdx.x] = in_left ? a[row * n + k + threadIdx.x] : 0.0f;
    right[threadIdx.y][threadIdx.x] = in_right ? b[(k + threadIdx.y) * n + column] : 0.0f;
    __syncthreads();
    for (int j = 0; j < kTile; ++j) sum += left[threadIdx.y][j] * right[j][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}

extern "C" __global__ void transposePadded(const float* in, float* out, int width, int height) {
  __shared__ float tile[kTile][kTile + 1];
  int x = blockIdx.x * kTile + threadIdx.x;
  int y = blockIdx.y * kTile + threadIdx.y;
  if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
  if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void matmulFused(const double* a, const double* b, double* c, int n) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n || column >= n) return;
  double sum = 0.0;
  for (int k = 0; k < n; ++k) sum = fma(a[row * n + k], b[k * n + column], sum);
  c[row * n + column] = sum;
}

// Rows as lists of columns and values.
extern "C" __global__ void sparseTimesVector(const int* starts, const int* columns,
                                             const float* values, const float* x, float* y,
                                             int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = starts[row]; k < starts[row + 1]; ++k) sum += values[k] * x[columns[k]];
  y[row] = sum;
}

// Five points, shared memory with a rim.
extern "C" __global__ void stencilFivePoints(const float* in, float* out, int width, int height) {
  __shared__ float patch[kTile + 2][kTile + 2];
  const int x = blockIdx.x * kTile + threadIdx.x;
  const int y = blockIdx.y * kTile + threadIdx.y;
  const int px = threadIdx.x + 1;
  const int py = threadIdx.y + 1;
  const auto at = [&](int ax, int ay) {
    ax = ax < 0 ? 0 : (ax >= width ? width - 1 : ax);
    ay = ay < 0 ? 0 : (ay >= height ? height - 1 : ay);
    return in[ay * width + ax];
  };
  patch[py][px] = at(x, y);
  if (threadIdx.x == 0) patch[py][0] = at(x - 1, y);
  if (threadIdx.x == kTile - 1) patch[py][kTile + 1] = at(x + 1, y);
  if (threadIdx.y == 0) patch[0][px] = at(x, y - 1);
  if (threadIdx.y == kTile - 1) patch[kTile + 1][px] = at(x, y + 1);
  __syncthreads();
  if (x >= width || y >= height) return;
  const float around =
      patch[py][px - 1] + patch[py][px + 1] + patch[py - 1][px] + patch[py + 1][px];
  out[y * width + x] = 0.5f * patch[py][px] + 0.125f * around;
}

// Integer matrices by the packed dot product of four bytes.
extern "C" __global__ void matmulBytes(const int* a, const int* b, const unsigned* ua,
                                       const unsigned* ub, int* c, unsigned* uc, int words) {
  const int row = blockIdx.x;
  const int column = threadIdx.x;
  int sum = -5;
  unsigned unsigned_sum = 7;
  for (int k = 0; k < words; ++k) {
    sum = __dp4a(a[row * words + k], b[column * words + k], sum);
    unsigned_sum = __dp4a(ua[row * words + k], ub[column * words + k], unsigned_sum);
  }
  c[row * blockDim.x + column] = sum;
  uc[row * blockDim.x + column] = unsigned_sum;
}
