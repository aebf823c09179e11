// Whole numbers of every width.

extern "C" __global__ void multiplyHigh(const unsigned* a, const unsigned* b,
                                        const unsigned long long* c, const unsigned long long* d,
                                        unsigned* out, unsigned long long* wide) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[3 * i] = __umulhi(a[i], b[i]);
  out[3 * i + 1] = __mulhi(static_cast<int>(a[i]), static_cast<int>(b[i]));
  out[3 * i + 2] = __mul24(static_cast<int>(a[i]), static_cast<int>(b[i])) ^ __umul24(a[i], b[i]);
  wide[4 * i] = __umul64hi(c[i], d[i]);
  wide[4 * i + 1] = __mul64hi(static_cast<long long>(c[i]), static_cast<long long>(d[i]));
  wide[4 * i + 2] = static_cast<unsigned long long>(a[i]) * b[i] + c[i];
  wide[4 * i + 3] = static_cast<long long>(static_cast<int>(a[i])) * static_cast<int>(b[i]) + d[i];
}

extern "C" __global__ void divideWide(const long long* a, const long long* b, long long* quotient,
                                      long long* rest, unsigned long long* unsigned_quotient,
                                      unsigned long long* unsigned_rest) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const long long by = b[i] == 0 || b[i] == -1 ? 3 : b[i];
  quotient[i] = a[i] / by;
  rest[i] = a[i] % by;
  unsigned_quotient[i] =
      static_cast<unsigned long long>(a[i]) / static_cast<unsigned long long>(by);
  unsigned_rest[i] = static_cast<unsigned long long>(a[i]) % static_cast<unsigned long long>(by);
}

extern "C" __global__ void divideNarrow(const int* a, const int* b, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int by = b[i] == 0 || b[i] == -1 ? 7 : b[i];
  const unsigned ua = static_cast<unsigned>(a[i]);
  const unsigned ub = static_cast<unsigned>(by);
  const short sa = static_cast<short>(a[i]);
  const short sb = static_cast<short>(by | 1);
  const unsigned char ca = static_cast<unsigned char>(a[i]);
  const unsigned char cb = static_cast<unsigned char>(by | 1);
  out[4 * i] = a[i] / by + a[i] % by;
  out[4 * i + 1] = static_cast<int>(ua / ub * 31 + ua % ub);
  out[4 * i + 2] = sb == -1 ? 0 : sa / sb + sa % sb;
  out[4 * i + 3] = ca / cb * 3 + ca % cb;
}

extern "C" __global__ void divideConstants(const int* in, const unsigned long long* wide, int* out,
                                           unsigned long long* wide_out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int v = in[i];
  const unsigned u = static_cast<unsigned>(v);
  int sum = v / 3 + v / 7 * 5 + v % 10 + v / -9 + v / 1000003 + v % 64 + v / 16;
  sum ^= static_cast<int>(u / 3 + u / 7 + u % 10 + u / 641 + u % 1000000007u);
  out[i] = sum;
  wide_out[i] = wide[i] / 10 + wide[i] % 1000000007ull + wide[i] / 0x100000001ull +
                static_cast<unsigned long long>(static_cast<long long>(wide[i]) / 12345);
}

// Shifts by amounts that a machine could get wrong; every amount is below the width.
extern "C" __global__ void shifts(const unsigned* in, const unsigned long long* wide, unsigned* out,
                                  unsigned long long* wide_out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned by = in[i] % 32;
  const unsigned wide_by = in[i] % 64;
  const int v = static_cast<int>(in[i]);
  const long long w = static_cast<long long>(wide[i]);
  out[i] = (in[i] << by) ^ (in[i] >> by) ^ static_cast<unsigned>(v >> by);
  wide_out[i] = (wide[i] << wide_by) ^ (wide[i] >> (63 - wide_by)) ^
                static_cast<unsigned long long>(w >> wide_by);
}

// Sums that carry through four words, and products of 128 bits.
extern "C" __global__ void longArithmetic(const unsigned long long* a, const unsigned long long* b,
                                          unsigned long long* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __extension__ using Wide = unsigned __int128;
  const Wide x = static_cast<Wide>(a[i]) << 64 | b[i];
  const Wide y = static_cast<Wide>(b[i]) * a[i] + 12345;
  const Wide sum = x + y;
  const Wide difference = y - x;
  const Wide product = x * y;
  const Wide shifted = x >> (a[i] % 128) ^ y << (b[i] % 128);
  const Wide all[4] = {sum, difference, product, shifted};
  for (int k = 0; k < 4; ++k) {
    out[8 * i + 2 * k] = static_cast<unsigned long long>(all[k]);
    out[8 * i + 2 * k + 1] = static_cast<unsigned long long>(all[k] >> 64);
  }
}

extern "C" __global__ void averagesAndDistances(const int* a, const int* b, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned ua = static_cast<unsigned>(a[i]);
  const unsigned ub = static_cast<unsigned>(b[i]);
  out[6 * i] = static_cast<unsigned>(__hadd(a[i], b[i]));
  out[6 * i + 1] = static_cast<unsigned>(__rhadd(a[i], b[i]));
  out[6 * i + 2] = __uhadd(ua, ub) ^ __urhadd(ua, ub);
  out[6 * i + 3] = __sad(a[i], b[i], 17u);
  out[6 * i + 4] = __usad(ua, ub, 99u);
  out[6 * i + 5] = static_cast<unsigned>(min(a[i], b[i])) * 3 +
                   static_cast<unsigned>(max(a[i], b[i])) + max(ua, ub) -
                   static_cast<unsigned>(abs(a[i] | 1));
}

// Arithmetic in 8 and 16 bits, wrapping and sign-extending as the language says.
extern "C" __global__ void narrowTypes(const int* in, signed char* bytes, unsigned char* ubytes,
                                       short* words, unsigned short* uwords, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const signed char b = static_cast<signed char>(bytes[i] + in[i]);
  const unsigned char ub = static_cast<unsigned char>(ubytes[i] * 3 - in[i]);
  const short w = static_cast<short>(words[i] * words[i] + b);
  const unsigned short uw = static_cast<unsigned short>((uwords[i] << 3) - ub);
  bytes[i] = b;
  ubytes[i] = ub;
  words[i] = w;
  uwords[i] = uw;
  out[i] = b * ub + w - uw + (b < 0) + (w < b) * 2 + (ub > uw) * 4;
}
