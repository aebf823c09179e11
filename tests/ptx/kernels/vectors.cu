// Element-wise kernels: plain, strided and vector-typed loads and stores.

extern "C" __global__ void vectorAdd(const float* a, const float* b, float* sum, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = a[i] + b[i];
}

extern "C" __global__ void saxpy(float scale, const float* x, float* y, int count) {
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    y[i] = scale * x[i] + y[i];
  }
}

extern "C" __global__ void scaleFloat4(const float4* in, float4* out, float4 factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float4 v = in[i];
  out[i] = make_float4(v.x * factor.x, v.y * factor.y, v.z + factor.z, v.w - factor.w);
}

extern "C" __global__ void swapInt2(int2* pairs, short4* shorts, uchar4* bytes, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int2 p = pairs[i];
  pairs[i] = make_int2(p.y, p.x);
  const short4 s = shorts[i];
  shorts[i] = make_short4(s.w, s.z, s.y, s.x);
  const uchar4 b = bytes[i];
  bytes[i] = make_uchar4(b.y, b.z, b.w, b.x);
}

extern "C" __global__ void doublePairs(const double2* in, double2* out, longlong2* sums,
                                       const longlong2* terms, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const double2 z = in[i];
  out[i] = make_double2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y);  // the square of a complex number
  const longlong2 t = terms[i];
  sums[i] = make_longlong2(t.x + t.y, t.x - t.y);
}

// Loads through the read-only path and several elements in flight per thread.
extern "C" __global__ void readOnlyBlend(const float* __restrict__ a, const float* __restrict__ b,
                                         float* __restrict__ out, int count) {
  const int base = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (base + k < count) out[base + k] = __ldg(a + base + k) * 0.25f + b[base + k] * 0.75f;
  }
}
