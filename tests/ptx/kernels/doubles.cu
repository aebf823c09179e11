// Arithmetic of 32 and 64 bits in every rounding, and functions whose result is exact.

extern "C" __global__ void doubleBasics(const double* a, const double* b, const double* c,
                                        double* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  double* const cells = out + 6 * i;
  cells[0] = a[i] + b[i] - c[i];
  cells[1] = a[i] * b[i];
  cells[2] = a[i] / c[i];
  cells[3] = sqrt(fabs(b[i]));
  cells[4] = fma(a[i], b[i], c[i]);
  cells[5] = a[i] * b[i] + c[i];
}

extern "C" __global__ void doubleDirected(const double* a, const double* b, double* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  double* const cells = out + 15 * i;
  const double positive = fabs(a[i]);
  cells[0] = __dadd_rz(a[i], b[i]);
  cells[1] = __dadd_rd(a[i], b[i]);
  cells[2] = __dadd_ru(a[i], b[i]);
  cells[3] = __dmul_rz(a[i], b[i]);
  cells[4] = __dmul_rd(a[i], b[i]);
  cells[5] = __dmul_ru(a[i], b[i]);
  cells[6] = __ddiv_rz(a[i], b[i]);
  cells[7] = __ddiv_rd(a[i], b[i]);
  cells[8] = __ddiv_ru(a[i], b[i]);
  cells[9] = __dsqrt_rz(positive);
  cells[10] = __dsqrt_rd(positive);
  cells[11] = __dsqrt_ru(positive);
  cells[12] = __fma_rz(a[i], b[i], 0.1);
  cells[13] = __fma_rd(a[i], b[i], 0.1);
  cells[14] = __fma_ru(a[i], b[i], 0.1);
}

extern "C" __global__ void floatDirected(const float* a, const float* b, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float* const cells = out + 20 * i;
  const float positive = fabsf(a[i]);
  cells[0] = __fadd_rn(a[i], b[i]);
  cells[1] = __fadd_rz(a[i], b[i]);
  cells[2] = __fadd_rd(a[i], b[i]);
  cells[3] = __fadd_ru(a[i], b[i]);
  cells[4] = __fmul_rn(a[i], b[i]);
  cells[5] = __fmul_rz(a[i], b[i]);
  cells[6] = __fmul_rd(a[i], b[i]);
  cells[7] = __fmul_ru(a[i], b[i]);
  cells[8] = __fdiv_rn(a[i], b[i]);
  cells[9] = __fdiv_rz(a[i], b[i]);
  cells[10] = __fdiv_rd(a[i], b[i]);
  cells[11] = __fdiv_ru(a[i], b[i]);
  cells[12] = __fsqrt_rn(positive);
  cells[13] = __fsqrt_rz(positive);
  cells[14] = __fsqrt_rd(positive);
  cells[15] = __fsqrt_ru(positive);
  cells[16] = __fmaf_rz(a[i], b[i], 0.1f);
  cells[17] = __fmaf_rd(a[i], b[i], 0.1f);
  cells[18] = __fmaf_ru(a[i], b[i], 0.1f);
  cells[19] = __frcp_rn(b[i]);
}

// Denormal numbers, infinities and zeros of both signs; NaN becomes a fixed word.
extern "C" __global__ void floatSpecials(const float* a, const float* b, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float all[6] = {a[i] + b[i], a[i] - b[i],        a[i] * b[i],
                        a[i] / b[i], sqrtf(fabsf(a[i])), fmaf(a[i], b[i], a[i])};
  for (int k = 0; k < 6; ++k) {
    out[7 * i + k] = all[k] != all[k] ? 0x7fffffffu : __float_as_uint(all[k]);
  }
  const unsigned order = (a[i] < b[i]) | (a[i] <= b[i]) << 1 | (a[i] == b[i]) << 2 |
                         (a[i] != b[i]) << 3 | !(a[i] > b[i]) << 4 | !(a[i] >= b[i]) << 5;
  const unsigned kind = isnan(a[i]) | isinf(b[i]) << 1 | isfinite(a[i]) << 2 | signbit(b[i]) << 3;
  out[7 * i + 6] = order | kind << 8;
}

extern "C" __global__ void wholeParts(const float* a, const double* b, float* out, double* wide) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[6 * i] = floorf(a[i]);
  out[6 * i + 1] = ceilf(a[i]);
  out[6 * i + 2] = truncf(a[i]);
  out[6 * i + 3] = rintf(a[i]);
  out[6 * i + 4] = roundf(a[i]);
  out[6 * i + 5] = copysignf(a[i], static_cast<float>(b[i]));
  wide[6 * i] = floor(b[i]);
  wide[6 * i + 1] = ceil(b[i]);
  wide[6 * i + 2] = trunc(b[i]);
  wide[6 * i + 3] = rint(b[i]);
  wide[6 * i + 4] = round(b[i]);
  wide[6 * i + 5] = fmax(b[i], fmin(static_cast<double>(a[i]), 3.0));
}

// Functions of the library that promise the exact result.
extern "C" __global__ void exactFunctions(const float* a, const float* b, const double* c,
                                          const double* d, float* out, double* wide, int* powers) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = fmodf(a[i], b[i]) + ldexpf(b[i], i % 30 - 15) + fdimf(a[i], b[i]);
  wide[i] = fmod(c[i], d[i]) + ldexp(d[i], 7 - i % 14);
  int power = 0;
  wide[i] += frexp(c[i], &power) * 3.0;
  powers[2 * i] = power;
  powers[2 * i + 1] = ilogb(d[i]);
}

// Sums that keep what rounding drops, and a root found by Newton's steps.
extern "C" __global__ void compensatedSums(const double* in, int length, double* sums,
                                           double* roots) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  double sum = 0.0;
  double lost = 0.0;
  for (int k = 0; k < length; ++k) {
    const double term = in[i * length + k] - lost;
    const double next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
  sums[i] = sum;
  double root = 1.0;
  const double of = fabs(sum) + 2.0;
  for (int turn = 0; turn < 30; ++turn)
    root = root - (root * root * root - of) / (3.0 * root * root);
  roots[i] = root;
}

// Roots of quadratics, one case for each kind of root.
extern "C" __global__ void quadraticRoots(const double* a, const double* b, const double* c,
                                          double* roots, unsigned char* kinds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const double inside = b[i] * b[i] - 4.0 * a[i] * c[i];
  double first = 0.0;
  double second = 0.0;
  unsigned char kind = 0;
  if (a[i] == 0.0) {
    kind = 1;
    first = second = -c[i] / b[i];
  } else if (inside < 0.0) {
    kind = 2;
    first = -b[i] / (2.0 * a[i]);
    second = sqrt(-inside) / (2.0 * a[i]);
  } else {
    kind = inside == 0.0 ? 3 : 4;
    const double q = -0.5 * (b[i] + copysign(sqrt(inside), b[i]));
    first = q / a[i];
    second = q == 0.0 ? 0.0 : c[i] / q;
  }
  roots[2 * i] = first;
  roots[2 * i + 1] = second;
  kinds[i] = kind;
}
