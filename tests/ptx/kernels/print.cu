// What threads print: the driver formats it on the process' standard output.
// nvcc: compute_75 unoptimized
#include <cstdio>

extern "C" __global__ void printValues(const int* in, const double* reals, int count) {
  const char* const kinds[3] = {"even", "odd", "nothing"};
  for (int i = 0; i < count; ++i) {
    const int v = in[i];
    const unsigned long long wide = static_cast<unsigned long long>(v) * 1000000007ull;
    printf("%d: %6d|%-8u|%08x|%c|%s|%%\n", i, v, static_cast<unsigned>(v), v, 'a' + (v & 15),
           kinds[v & 1]);
    printf("%lld %llx %+.3f %g %10.2e\n", static_cast<long long>(wide), wide, reals[i], reals[i],
           static_cast<double>(static_cast<float>(reals[i])));
  }
  printf("%s after %d lines\n", kinds[2], 2 * count);
}
