// From one type of number to another, in every way of rounding.

extern "C" __global__ void floatToIntegers(const float* in, int* out, unsigned* unsigned_out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[4 * i] = __float2int_rn(in[i]);
  out[4 * i + 1] = __float2int_rz(in[i]);
  out[4 * i + 2] = __float2int_rd(in[i]);
  out[4 * i + 3] = __float2int_ru(in[i]);
  unsigned_out[4 * i] = __float2uint_rn(in[i]);
  unsigned_out[4 * i + 1] = __float2uint_rz(in[i]);
  unsigned_out[4 * i + 2] = __float2uint_rd(in[i]);
  unsigned_out[4 * i + 3] = __float2uint_ru(in[i]);
}

extern "C" __global__ void floatToWide(const float* in, long long* out, unsigned long long* uout) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[4 * i] = __float2ll_rn(in[i]);
  out[4 * i + 1] = __float2ll_rz(in[i]);
  out[4 * i + 2] = __float2ll_rd(in[i]);
  out[4 * i + 3] = __float2ll_ru(in[i]);
  uout[4 * i] = __float2ull_rn(in[i]);
  uout[4 * i + 1] = __float2ull_rz(in[i]);
  uout[4 * i + 2] = __float2ull_rd(in[i]);
  uout[4 * i + 3] = __float2ull_ru(in[i]);
}

extern "C" __global__ void doubleToIntegers(const double* in, int* out, unsigned* unsigned_out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[4 * i] = __double2int_rn(in[i]);
  out[4 * i + 1] = __double2int_rz(in[i]);
  out[4 * i + 2] = __double2int_rd(in[i]);
  out[4 * i + 3] = __double2int_ru(in[i]);
  unsigned_out[4 * i] = __double2uint_rn(in[i]);
  unsigned_out[4 * i + 1] = __double2uint_rz(in[i]);
  unsigned_out[4 * i + 2] = __double2uint_rd(in[i]);
  unsigned_out[4 * i + 3] = __double2uint_ru(in[i]);
}

extern "C" __global__ void doubleToWide(const double* in, long long* out,
                                        unsigned long long* uout) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[4 * i] = __double2ll_rn(in[i]);
  out[4 * i + 1] = __double2ll_rz(in[i]);
  out[4 * i + 2] = __double2ll_rd(in[i]);
  out[4 * i + 3] = __double2ll_ru(in[i]);
  uout[4 * i] = __double2ull_rn(in[i]);
  uout[4 * i + 1] = __double2ull_rz(in[i]);
  uout[4 * i + 2] = __double2ull_rd(in[i]);
  uout[4 * i + 3] = __double2ull_ru(in[i]);
}

extern "C" __global__ void integersToFloat(const int* in, const long long* wide, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float* const cells = out + 16 * i;
  const unsigned u = static_cast<unsigned>(in[i]);
  const unsigned long long uw = static_cast<unsigned long long>(wide[i]);
  cells[0] = __int2float_rn(in[i]);
  cells[1] = __int2float_rz(in[i]);
  cells[2] = __int2float_rd(in[i]);
  cells[3] = __int2float_ru(in[i]);
  cells[4] = __uint2float_rn(u);
  cells[5] = __uint2float_rz(u);
  cells[6] = __uint2float_rd(u);
  cells[7] = __uint2float_ru(u);
  cells[8] = __ll2float_rn(wide[i]);
  cells[9] = __ll2float_rz(wide[i]);
  cells[10] = __ll2float_rd(wide[i]);
  cells[11] = __ll2float_ru(wide[i]);
  cells[12] = __ull2float_rn(uw);
  cells[13] = __ull2float_rz(uw);
  cells[14] = __ull2float_rd(uw);
  cells[15] = __ull2float_ru(uw);
}

extern "C" __global__ void integersToDouble(const int* in, const long long* wide, double* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  double* const cells = out + 10 * i;
  const unsigned long long uw = static_cast<unsigned long long>(wide[i]);
  cells[0] = __int2double_rn(in[i]);
  cells[1] = __uint2double_rn(static_cast<unsigned>(in[i]));
  cells[2] = __ll2double_rn(wide[i]);
  cells[3] = __ll2double_rz(wide[i]);
  cells[4] = __ll2double_rd(wide[i]);
  cells[5] = __ll2double_ru(wide[i]);
  cells[6] = __ull2double_rn(uw);
  cells[7] = __ull2double_rz(uw);
  cells[8] = __ull2double_rd(uw);
  cells[9] = __ull2double_ru(uw);
}

// NaN becomes a fixed word: its payload is no promise of anybody's.
extern "C" __global__ void doubleToFloat(const double* in, unsigned* out, double* back) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float all[4] = {__double2float_rn(in[i]), __double2float_rz(in[i]),
                        __double2float_rd(in[i]), __double2float_ru(in[i])};
  for (int k = 0; k < 4; ++k) {
    out[4 * i + k] = all[k] != all[k] ? 0x7fffffffu : __float_as_uint(all[k]);
  }
  back[i] = all[0] != all[0] ? 0.0 : static_cast<double>(all[0]);
}

// The casts of the language, on values that fit.
extern "C" __global__ void plainCasts(const int* in, signed char* bytes, unsigned char* ubytes,
                                      short* words, float* floats, double* doubles) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float f = static_cast<float>(in[i] % 100) * 0.37f;
  const double d = static_cast<double>(in[i] % 30000) * 1.0009765625;
  bytes[i] = static_cast<signed char>(f);
  ubytes[i] = static_cast<unsigned char>(f < 0.0f ? -f : f);
  words[i] = static_cast<short>(d);
  floats[i] = static_cast<float>(static_cast<signed char>(in[i])) +
              static_cast<float>(static_cast<unsigned short>(in[i]));
  doubles[i] = static_cast<double>(static_cast<short>(in[i])) * static_cast<float>(bytes[i]) +
               static_cast<double>(static_cast<long long>(d * 1e9));
}

extern "C" __global__ void bitCasts(const unsigned* in, const unsigned long long* wide,
                                    unsigned* out, unsigned long long* wide_out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float f = __uint_as_float((in[i] & 0x807fffffu) | 0x40000000u);
  const double d =
      __longlong_as_double(static_cast<long long>(wide[i] >> 12 | 0x3ff0000000000000ull));
  out[3 * i] = __float_as_uint(f * 2.0f);
  out[3 * i + 1] = static_cast<unsigned>(__double2hiint(d));
  out[3 * i + 2] = static_cast<unsigned>(__double2loint(d * 3.0));
  wide_out[2 * i] = static_cast<unsigned long long>(__double_as_longlong(d - 1.0));
  wide_out[2 * i + 1] = static_cast<unsigned long long>(__double_as_longlong(
      __hiloint2double(0x40080000 | static_cast<int>(in[i] & 0xffffu), static_cast<int>(in[i]))));
}
