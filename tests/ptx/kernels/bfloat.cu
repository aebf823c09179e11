// Numbers of 16 bits with the exponent of 32: arithmetic needs compute capability 8.0.
// nvcc: compute_80 compute_90
#include <cuda_bf16.h>

extern "C" __global__ void bfloatArithmetic(const __nv_bfloat16* a, const __nv_bfloat16* b,
                                            const __nv_bfloat16* c, __nv_bfloat16* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __nv_bfloat16* const cells = out + 8 * i;
  cells[0] = __hadd(a[i], b[i]);
  cells[1] = __hsub(a[i], b[i]);
  cells[2] = __hmul(a[i], b[i]);
  cells[3] = __hfma(a[i], b[i], c[i]);
  cells[4] = __hmax(a[i], b[i]);
  cells[5] = __hmin(a[i], b[i]);
  cells[6] = __hneg(a[i]);
  cells[7] = __habs(b[i]);
}

extern "C" __global__ void bfloatPolynomial(const __nv_bfloat16* x, const __nv_bfloat16* factors,
                                            int degree, __nv_bfloat16* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __nv_bfloat16 sum = __float2bfloat16(0.0f);
  __nv_bfloat16 power = __float2bfloat16(1.0f);
  for (int k = 0; k < degree; ++k) {
    sum = sum + factors[k] * power;
    power = power * x[i];
  }
  out[i] = sum > factors[0] ? sum - factors[0] : -sum;
}

extern "C" __global__ void bfloatCompare(const __nv_bfloat16* a, const __nv_bfloat16* b,
                                         unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned bits = 0;
  bits |= __heq(a[i], b[i]) ? 1u : 0u;
  bits |= __hne(a[i], b[i]) ? 2u : 0u;
  bits |= __hlt(a[i], b[i]) ? 4u : 0u;
  bits |= __hge(a[i], b[i]) ? 8u : 0u;
  bits |= __hgtu(a[i], b[i]) ? 16u : 0u;
  bits |= __hisnan(a[i]) ? 32u : 0u;
  out[i] = bits;
}

extern "C" __global__ void bfloatFromFloat(const float* in, const double* wide, __nv_bfloat16* out,
                                           unsigned* back) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __nv_bfloat16* const cells = out + 6 * i;
  cells[0] = __float2bfloat16_rn(in[i]);
  cells[1] = __float2bfloat16_rz(in[i]);
  cells[2] = __float2bfloat16_rd(in[i]);
  cells[3] = __float2bfloat16_ru(in[i]);
  cells[4] = __double2bfloat16(wide[i]);
  cells[5] = __ushort_as_bfloat16(static_cast<unsigned short>(i * 257));
  const float up = __bfloat162float(cells[0]);
  back[i] = up != up ? 1u : __float_as_uint(up);
}

extern "C" __global__ void bfloatIntegers(const __nv_bfloat16* in, const int* numbers, int* out,
                                          long long* wide, __nv_bfloat16* from) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[4 * i] = __bfloat162int_rn(in[i]);
  out[4 * i + 1] = __bfloat162int_rz(in[i]);
  out[4 * i + 2] = static_cast<int>(__bfloat162uint_rd(in[i]));
  out[4 * i + 3] = __bfloat162short_rn(in[i]);
  wide[i] = __bfloat162ll_rz(in[i]);
  from[3 * i] = __int2bfloat16_rn(numbers[i]);
  from[3 * i + 1] = __uint2bfloat16_rn(static_cast<unsigned>(numbers[i]));
  from[3 * i + 2] = __short2bfloat16_rn(static_cast<short>(numbers[i]));
}

extern "C" __global__ void bfloatPairs(const __nv_bfloat162* a, const __nv_bfloat162* b,
                                       const __nv_bfloat162* c, __nv_bfloat162* out, float2* wide) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __nv_bfloat162* const cells = out + 7 * i;
  cells[0] = __hadd2(a[i], b[i]);
  cells[1] = __hsub2(a[i], b[i]);
  cells[2] = __hmul2(a[i], b[i]);
  cells[3] = __hfma2(a[i], b[i], c[i]);
  cells[4] = __hmax2(a[i], b[i]);
  cells[5] = __halves2bfloat162(__high2bfloat16(a[i]), __low2bfloat16(b[i]));
  cells[6] = __floats2bfloat162_rn(static_cast<float>(i) * 1.37f, -0.001f * i);
  const float2 both = __bfloat1622float2(c[i]);
  wide[i] = make_float2(both.x != both.x ? 5.0f : both.x, both.y != both.y ? 6.0f : both.y);
}

// What compute capability 8.0 brought besides: reductions of a warp in one instruction.
extern "C" __global__ void warpReductions(const int* in, int* out, unsigned* bits) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[3 * i] = __reduce_add_sync(0xffffffffu, in[i]);
  out[3 * i + 1] = __reduce_min_sync(0xffffffffu, in[i]);
  out[3 * i + 2] = __reduce_max_sync(0xffffffffu, in[i]);
  const unsigned value = static_cast<unsigned>(in[i]);
  bits[3 * i] = __reduce_and_sync(0xffffffffu, value | 0xff00u);
  bits[3 * i + 1] = __reduce_or_sync(0xffffffffu, value & 0xffu);
  bits[3 * i + 2] = __reduce_xor_sync(0xffffffffu, value);
}
