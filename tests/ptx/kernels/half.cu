// Numbers of 16 bits, five of them exponent.
#include <cuda_fp16.h>

extern "C" __global__ void halfArithmetic(const __half* a, const __half* b, const __half* c,
                                          __half* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half* const cells = out + 8 * i;
  cells[0] = __hadd(a[i], b[i]);
  cells[1] = __hsub(a[i], b[i]);
  cells[2] = __hmul(a[i], b[i]);
  cells[3] = __hfma(a[i], b[i], c[i]);
  cells[4] = __hadd_sat(a[i], b[i]);
  cells[5] = __hfma_sat(a[i], b[i], c[i]);
  cells[6] = __hneg(a[i]);
  cells[7] = __habs(b[i]);
}

// The operators, and what the compiler makes of a loop of them.
extern "C" __global__ void halfPolynomial(const __half* x, const __half* factors, int degree,
                                          __half* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half sum = __float2half(0.0f);
  __half power = __float2half(1.0f);
  for (int k = 0; k < degree; ++k) {
    sum = sum + factors[k] * power;
    power = power * x[i];
  }
  out[i] = sum > factors[0] ? sum - factors[0] : -sum;
}

extern "C" __global__ void halfCompare(const __half* a, const __half* b, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned bits = 0;
  bits |= __heq(a[i], b[i]) ? 1u : 0u;
  bits |= __hne(a[i], b[i]) ? 2u : 0u;
  bits |= __hlt(a[i], b[i]) ? 4u : 0u;
  bits |= __hle(a[i], b[i]) ? 8u : 0u;
  bits |= __hgt(a[i], b[i]) ? 16u : 0u;
  bits |= __hge(a[i], b[i]) ? 32u : 0u;
  bits |= __hequ(a[i], b[i]) ? 64u : 0u;
  bits |= __hltu(a[i], b[i]) ? 128u : 0u;
  bits |= __hgeu(a[i], b[i]) ? 256u : 0u;
  bits |= __hisnan(a[i]) ? 512u : 0u;
  bits |= __hisinf(b[i]) != 0 ? 1024u : 0u;
  out[i] = bits;
}

extern "C" __global__ void halfPairs(const __half2* a, const __half2* b, const __half2* c,
                                     __half2* out, unsigned char* all) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half2* const cells = out + 8 * i;
  cells[0] = __hadd2(a[i], b[i]);
  cells[1] = __hsub2(a[i], b[i]);
  cells[2] = __hmul2(a[i], b[i]);
  cells[3] = __hfma2(a[i], b[i], c[i]);
  cells[4] = __halves2half2(__high2half(a[i]), __low2half(b[i]));
  cells[5] = __hneg2(a[i]);
  cells[6] = __heq2(a[i], b[i]);
  cells[7] = __hgt2(a[i], __lowhigh2highlow(b[i]));
  all[i] = __hblt2(a[i], b[i]);
}

// Every rounding from 32 bits down, and back up.
extern "C" __global__ void halfFromFloat(const float* in, __half* out, unsigned* back) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half* const cells = out + 4 * i;
  cells[0] = __float2half_rn(in[i]);
  cells[1] = __float2half_rz(in[i]);
  cells[2] = __float2half_rd(in[i]);
  cells[3] = __float2half_ru(in[i]);
  const float wide = __half2float(cells[0]);
  back[i] = wide != wide ? 1u : __float_as_uint(wide);
}

extern "C" __global__ void halfFromDouble(const double* in, __half* out, float2* pairs) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = __double2half(in[i]);
  const float2 both = make_float2(static_cast<float>(in[i]), 1.0f);
  const float2 back = __half22float2(__float22half2_rn(both));
  pairs[i] = make_float2(back.x != back.x ? -1.0f : back.x, back.y);
}

extern "C" __global__ void halfToIntegers(const __half* in, int* out, long long* wide) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int* const cells = out + 8 * i;
  cells[0] = __half2int_rn(in[i]);
  cells[1] = __half2int_rz(in[i]);
  cells[2] = __half2int_rd(in[i]);
  cells[3] = __half2int_ru(in[i]);
  cells[4] = static_cast<int>(__half2uint_rn(in[i]));
  cells[5] = __half2short_rz(in[i]);
  cells[6] = __half2ushort_ru(in[i]);
  cells[7] = static_cast<int>(__half_as_ushort(in[i]));
  wide[2 * i] = __half2ll_rn(in[i]);
  wide[2 * i + 1] = static_cast<long long>(__half2ull_rd(in[i]));
}

extern "C" __global__ void halfFromIntegers(const int* in, const long long* wide, __half* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half* const cells = out + 8 * i;
  cells[0] = __int2half_rn(in[i]);
  cells[1] = __int2half_rz(in[i]);
  cells[2] = __uint2half_rd(static_cast<unsigned>(in[i]));
  cells[3] = __short2half_ru(static_cast<short>(in[i]));
  cells[4] = __ushort2half_rn(static_cast<unsigned short>(in[i]));
  cells[5] = __ll2half_rn(wide[i]);
  cells[6] = __ull2half_rz(static_cast<unsigned long long>(wide[i]));
  cells[7] = __ushort_as_half(static_cast<unsigned short>(in[i]));
}

extern "C" __global__ void halfRounded(const __half* in, __half* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[4 * i] = hfloor(in[i]);
  out[4 * i + 1] = hceil(in[i]);
  out[4 * i + 2] = htrunc(in[i]);
  out[4 * i + 3] = hrint(in[i]);
}

// Small whole numbers, so that every order gives the same sum.
extern "C" __global__ void halfAtomics(const int* in, __half* sum, __half2* pair) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const __half value = __int2half_rn(in[i] % 4);
  atomicAdd(sum, value);
  atomicAdd(pair, __halves2half2(value, __hneg(value)));
}

// A dot product in halves: two sums side by side, then a shuffle of the pair.
extern "C" __global__ void halfDot(const __half2* a, const __half2* b, int length, __half* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half2 sum = __float2half2_rn(0.0f);
  for (int k = 0; k < length; ++k) {
    sum = __hfma2(a[i * length + k], b[i * length + k], sum);
  }
  const __half2 other = __shfl_xor_sync(0xffffffffu, sum, 1);
  sum = __hadd2(sum, other);
  out[i] = __hadd(__low2half(sum), __high2half(sum));
}
