// Bits, one by one and in fields.

extern "C" __global__ void bitCounts(const unsigned* in, const unsigned long long* wide,
                                     unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int v = static_cast<int>(in[i]);
  const long long w = static_cast<long long>(wide[i]);
  unsigned* const cells = out + 8 * i;
  cells[0] = __popc(in[i]);
  cells[1] = __clz(v);
  cells[2] = __ffs(v);
  cells[3] = __brev(in[i]);
  cells[4] = __popcll(wide[i]);
  cells[5] = __clzll(w);
  cells[6] = __ffsll(w);
  cells[7] = static_cast<unsigned>(__brevll(wide[i]) >> 13);
}

extern "C" __global__ void bytePermute(const unsigned* a, const unsigned* b, const unsigned* chosen,
                                       unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned swapped = __byte_perm(a[i], 0, 0x0123);
  out[i] = __byte_perm(a[i], b[i], chosen[i] & 0x7777u) ^ swapped;
}

extern "C" __global__ void funnelShifts(const unsigned* low, const unsigned* high, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned by = low[i] >> 7 & 63;
  out[4 * i] = __funnelshift_l(low[i], high[i], by);
  out[4 * i + 1] = __funnelshift_r(low[i], high[i], by);
  out[4 * i + 2] = __funnelshift_lc(low[i], high[i], by);
  out[4 * i + 3] = __funnelshift_rc(low[i], high[i], by);
}

// Fields of a structure, signed and unsigned: extracted and inserted.
struct BitFields {
  unsigned low : 5;
  int middle : 11;
  unsigned high : 16;
};
extern "C" __global__ void bitFields(const unsigned* in, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  BitFields fields;
  fields.low = in[i] & 31;
  fields.middle = static_cast<int>(in[i] << 16) >> 21;
  fields.high = in[i] >> 16;
  const int product = fields.middle * static_cast<int>(fields.low);
  fields.high ^= static_cast<unsigned>(product) & 0xffffu;
  fields.low = (fields.low + 3) & 31;
  out[2 * i] =
      fields.low | (static_cast<unsigned>(fields.middle) & 0x7ffu) << 5 | fields.high << 16;
  out[2 * i + 1] = static_cast<unsigned>(product);
}

// Interleaves the bits of three coordinates, and takes them apart again.
static __device__ unsigned spread(unsigned v) {
  v = (v | v << 16) & 0x030000ffu;
  v = (v | v << 8) & 0x0300f00fu;
  v = (v | v << 4) & 0x030c30c3u;
  return (v | v << 2) & 0x09249249u;
}
extern "C" __global__ void mortonCodes(const unsigned* in, unsigned* codes, unsigned* back) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned x = in[i] & 1023;
  const unsigned y = in[i] >> 10 & 1023;
  const unsigned z = in[i] >> 20 & 1023;
  const unsigned code = spread(x) | spread(y) << 1 | spread(z) << 2;
  unsigned gathered = 0;
  for (int bit = 0; bit < 10; ++bit) gathered |= (code >> (3 * bit) & 1u) << bit;
  codes[i] = code;
  back[i] = gathered;
}

// Gray codes, parity, the next number with as many bits, rotations.
extern "C" __global__ void bitTricks(const unsigned* in, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned v = in[i] >> 2 | 1;
  unsigned gray = v ^ v >> 1;
  for (unsigned shift = 1; shift < 32; shift <<= 1) gray ^= gray >> shift;
  const unsigned lowest = v & -v;
  const unsigned ripple = v + lowest;
  const unsigned next = ((v ^ ripple) >> 2) / lowest | ripple;
  out[4 * i] = gray;
  out[4 * i + 1] = next;
  out[4 * i + 2] = (v << 7 | v >> 25) ^ (v << 30 | v >> 2);
  out[4 * i + 3] = __popc(v) & 1;
}
