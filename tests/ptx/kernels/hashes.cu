// Checksums, digests and random numbers: long chains in which no bit may be wrong.

extern "C" __global__ void crc32Bytes(const unsigned char* in, int length, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned crc = 0xffffffffu;
  for (int k = 0; k < length; ++k) {
    crc ^= in[i * length + k];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xedb88320u & -(crc & 1u));
  }
  out[i] = ~crc;
}

__constant__ unsigned hash_round_keys[16] = {0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u,
                                             0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u,
                                             0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u,
                                             0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u};

static __device__ unsigned rotateRight(unsigned v, int by) {
  return v >> by | v << (32 - by);
}

// The first sixteen rounds of SHA-256, and its message schedule.
extern "C" __global__ void shaRounds(const unsigned* in, unsigned* out) {
  unsigned w[32];
  unsigned s[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                   0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 16; ++k) w[k] = in[16 * i + k];
  for (int k = 16; k < 32; ++k) {
    const unsigned a = rotateRight(w[k - 15], 7) ^ rotateRight(w[k - 15], 18) ^ w[k - 15] >> 3;
    const unsigned b = rotateRight(w[k - 2], 17) ^ rotateRight(w[k - 2], 19) ^ w[k - 2] >> 10;
    w[k] = w[k - 16] + a + w[k - 7] + b;
  }
  for (int k = 0; k < 32; ++k) {
    const unsigned e = rotateRight(s[4], 6) ^ rotateRight(s[4], 11) ^ rotateRight(s[4], 25);
    const unsigned choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    const unsigned one = s[7] + e + choice + hash_round_keys[k % 16] + w[k];
    const unsigned a = rotateRight(s[0], 2) ^ rotateRight(s[0], 13) ^ rotateRight(s[0], 22);
    const unsigned majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    for (int j = 7; j > 0; --j) s[j] = s[j - 1];
    s[4] += one;
    s[0] = one + a + majority;
  }
  for (int k = 0; k < 8; ++k) out[8 * i + k] = s[k];
}

extern "C" __global__ void xorshift(const unsigned* seeds, unsigned* out, float* reals) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = seeds[i] | 1;
  unsigned long long star = static_cast<unsigned long long>(x) << 20 | 5;
  for (int k = 0; k < 100; ++k) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    star ^= star >> 12;
    star ^= star << 25;
    star ^= star >> 27;
    star *= 0x2545f4914f6cdd1dull;
  }
  out[2 * i] = x;
  out[2 * i + 1] = static_cast<unsigned>(star >> 32);
  reals[i] = static_cast<float>(x >> 8) * (1.0f / 16777216.0f);
}

// Philox 4x32-10: counter-based random numbers.
extern "C" __global__ void philox(unsigned key_low, unsigned key_high, uint4* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  uint4 c = make_uint4(i, i * 3, 0u, 7u);
  for (int round = 0; round < 10; ++round) {
    const unsigned high_a = __umulhi(0xd2511f53u, c.x);
    const unsigned low_a = 0xd2511f53u * c.x;
    const unsigned high_b = __umulhi(0xcd9e8d57u, c.z);
    const unsigned low_b = 0xcd9e8d57u * c.z;
    c = make_uint4(high_b ^ c.y ^ key_low, low_b, high_a ^ c.w ^ key_high, low_a);
    key_low += 0x9e3779b9u;
    key_high += 0xbb67ae85u;
  }
  out[i] = c;
}

// SipHash-like mixing of 64-bit words.
static __device__ unsigned long long rotateLeft(unsigned long long v, int by) {
  return v << by | v >> (64 - by);
}
extern "C" __global__ void mixWide(const unsigned long long* in, int words,
                                   unsigned long long* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long a = 0x736f6d6570736575ull;
  unsigned long long b = 0x646f72616e646f6dull;
  unsigned long long c = 0x6c7967656e657261ull;
  unsigned long long d = 0x7465646279746573ull;
  for (int k = 0; k < words; ++k) {
    const unsigned long long m = in[i * words + k];
    d ^= m;
    for (int round = 0; round < 2; ++round) {
      a += b;
      c += d;
      b = rotateLeft(b, 13) ^ a;
      d = rotateLeft(d, 16) ^ c;
      a = rotateLeft(a, 32);
      c += b;
      a += d;
      b = rotateLeft(b, 17) ^ c;
      d = rotateLeft(d, 21) ^ a;
      c = rotateLeft(c, 32);
    }
    a ^= m;
  }
  out[i] = a ^ b ^ c ^ d;
}

// Montgomery multiplication modulo a 64-bit prime, as number theory does it.
extern "C" __global__ void modularPowers(const unsigned long long* bases, const unsigned* powers,
                                         unsigned long long* out) {
  const unsigned long long modulus = 0xffffffff00000001ull;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long result = 1;
  unsigned long long base = bases[i] % modulus;
  for (unsigned power = powers[i]; power != 0; power >>= 1) {
    for (int which = 0; which < 2; ++which) {
      if (which == 0 && (power & 1u) == 0) continue;
      const unsigned long long other = which == 0 ? result : base;
      const unsigned long long low = base * other;
      const unsigned long long high = __umul64hi(base, other);
      // 2^64 = 2^32 - 1 and 2^96 = -1 modulo this prime.
      const unsigned long long top = high >> 32;
      const unsigned long long middle = (high & 0xffffffffu) * 0xffffffffu;
      unsigned long long value = low - top;
      if (low < top) value -= 0xffffffffu;
      const unsigned long long sum = value + middle;
      value = sum < value ? sum + 0xffffffffu : sum;
      if (value >= modulus) value -= modulus;
      if (which == 0) {
        result = value;
      } else {
        base = value;
      }
    }
  }
  out[i] = result;
}
