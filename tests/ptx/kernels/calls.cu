// Functions that are really called: by name, by pointer, by themselves.
// nvcc: compute_75 unoptimized

static __device__ __noinline__ int addTimes(int a, int b, int times) {
  return a + b * times;
}

extern "C" __global__ void callPlain(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = addTimes(in[i], addTimes(i, 3, in[i]), 5);
}

static __device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
extern "C" __global__ void callFibonacci(int* out) {
  out[threadIdx.x] = fibonacci(static_cast<int>(threadIdx.x) % 12);
}

static __device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}
extern "C" __global__ void callAckermann(unsigned* out) {
  out[threadIdx.x] = ackermann(threadIdx.x / 4, threadIdx.x % 4);
}

static __device__ __noinline__ bool isOdd(unsigned n);
static __device__ __noinline__ bool isEven(unsigned n) {
  return n == 0 || isOdd(n - 1);
}
static __device__ __noinline__ bool isOdd(unsigned n) {
  return n != 0 && isEven(n - 1);
}
extern "C" __global__ void callMutual(const unsigned* in, unsigned char* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = isEven(in[i] % 40) ? 'e' : 'o';
}

struct Point {
  double x;
  float y;
  int label;
  short small[3];
};

static __device__ __noinline__ Point moved(Point p, float by) {
  p.x += by;
  p.y -= by;
  p.label = -p.label;
  for (int k = 0; k < 3; ++k) p.small[k] = static_cast<short>(p.small[k] * (k + 2));
  return p;
}
extern "C" __global__ void callStruct(const int* in, Point* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  Point p = {in[i] * 0.25, in[i] * 0.5f, in[i], {1, static_cast<short>(i), -7}};
  p = moved(p, 1.5f);
  p = moved(p, in[i] > 0 ? 2.0f : -4.0f);
  out[i].x = p.x;
  out[i].y = p.y;
  out[i].label = p.label;
  for (int k = 0; k < 3; ++k) out[i].small[k] = p.small[k];
}

static __device__ __noinline__ void divideWithRest(int a, int b, int* quotient, int* rest) {
  *quotient = a / b;
  *rest = a % b;
}
// Pointers to local, shared and global memory through the same parameter.
extern "C" __global__ void callPointers(const int* in, int* out) {
  __shared__ int shared_rest[64];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int quotient = 0;
  divideWithRest(in[i], static_cast<int>(threadIdx.x) + 1, &quotient, &shared_rest[threadIdx.x]);
  __syncthreads();
  int rest = 0;
  divideWithRest(shared_rest[(threadIdx.x + 1) % blockDim.x] + quotient, 7, &out[2 * i], &rest);
  out[2 * i + 1] = rest;
}

using Operation = float (*)(float, float);
static __device__ float plus(float a, float b) {
  return a + b;
}
static __device__ float minus(float a, float b) {
  return a - b;
}
static __device__ float times(float a, float b) {
  return a * b;
}
static __device__ float larger(float a, float b) {
  return a > b ? a : b;
}
__device__ Operation call_operations[4] = {plus, minus, times, larger};

extern "C" __global__ void callFunctionPointers(const float* a, const float* b, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = call_operations[i % 4](a[i], b[i]);
}

// Virtual functions of objects made on the device.
struct Shape {
  __device__ virtual float area() const { return 0.0f; }
  __device__ virtual int corners() const { return 0; }
};
struct Box : Shape {
  float a, b;
  __device__ Box(float width, float height) : a(width), b(height) {}
  __device__ float area() const override { return a * b; }
  __device__ int corners() const override { return 4; }
};
struct Triangle : Shape {
  float base, height;
  __device__ Triangle(float b, float h) : base(b), height(h) {}
  __device__ float area() const override { return base * height / 2.0f; }
  __device__ int corners() const override { return 3; }
};

static __device__ __noinline__ float describe(const Shape& shape) {
  return shape.area() + static_cast<float>(shape.corners()) * 1000.0f;
}
extern "C" __global__ void callVirtual(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const Box box(in[i], in[i] + 1.0f);
  const Triangle triangle(in[i], 3.0f);
  const Shape nothing;
  const Shape* all[3] = {&box, &triangle, &nothing};
  out[i] = describe(*all[i % 3]) + describe(*all[(i + 1) % 3]);
}

// Towers of Hanoi: deep calls with pointers into the caller's arrays.
static __device__ __noinline__ void hanoi(int disks, int from, int to, int via, unsigned* trace,
                                          int* moves) {
  if (disks == 0) return;
  hanoi(disks - 1, from, via, to, trace, moves);
  trace[*moves % 4] = trace[*moves % 4] * 9 + from * 3 + to;
  ++*moves;
  hanoi(disks - 1, via, to, from, trace, moves);
}
extern "C" __global__ void callHanoi(unsigned* out, int* counts) {
  unsigned trace[4] = {1, 2, 3, 4};
  int moves = 0;
  hanoi(static_cast<int>(threadIdx.x) % 7, 0, 2, 1, trace, &moves);
  for (int k = 0; k < 4; ++k) out[threadIdx.x * 4 + k] = trace[k];
  counts[threadIdx.x] = moves;
}
