#include "kernel.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

namespace divvy::bench {
namespace {

constexpr const char* kBuiltin = "simgpu-builtin 1\nkernel work = spin\n";

// work(steps, stamps): stamps[0] counts intervals, stamps[1] is the room for them, pairs follow.
// A step that took 20 us or more is one in which the card ran somebody else.
constexpr const char* kPtx = R"(.version 6.4
.target sm_52
.address_size 64
.visible .entry work(.param .u64 steps, .param .u64 stamps)
{
  .reg .pred %done, %hole, %mark;
  .reg .b64 %left, %ring, %begin, %last, %now, %step, %at, %room;
  ld.param.u64 %left, [steps];
  ld.param.u64 %ring, [stamps];
  cvta.to.global.u64 %ring, %ring;
  mov.u64 %begin, %globaltimer;
  mov.u64 %last, %begin;
again:
  mov.u64 %now, %globaltimer;
  setp.eq.u64 %done, %left, 0;
  sub.u64 %step, %now, %last;
  setp.ge.u64 %hole, %step, 20000;
  or.pred %mark, %done, %hole;
  @!%mark bra next;
  atom.global.add.u64 %at, [%ring], 1;
  ld.global.u64 %room, [%ring+8];
  rem.u64 %at, %at, %room;
  shl.b64 %at, %at, 4;
  add.u64 %at, %at, %ring;
  st.global.u64 [%at+16], %begin;
  st.global.u64 [%at+24], %last;
  mov.u64 %begin, %now;
next:
  mov.u64 %last, %now;
  @%done bra end;
  sub.u64 %left, %left, 1;
  bra again;
end:
  ret;
}
)";

constexpr std::uint64_t kRoom = 2'000'000;
constexpr std::uint64_t kCalibrationSteps = 100'000;
constexpr int kClockTries = 50;
constexpr int kRateTries = 5;
constexpr std::uint64_t kMinRoom = 4096;

}  // namespace

WorkKernel::WorkKernel(bool spans) {
  CUmodule module = nullptr;
  if (!spans && cuModuleLoadData(&module, kBuiltin) == 0) {
    must(cuModuleGetFunction(&function_, module, "work"), "cuModuleGetFunction");
    return;
  }
  must(cuModuleLoadData(&module, kPtx), "cuModuleLoadData");
  must(cuModuleGetFunction(&function_, module, "work"), "cuModuleGetFunction");
  const std::uint64_t header[2] = {0, spans ? kRoom : kMinRoom};
  must(cuMemAlloc_v2(&stamps_, sizeof header + header[1] * sizeof(Span)), "cuMemAlloc of stamps");
  must(cuMemcpyHtoD_v2(stamps_, header, sizeof header), "cuMemcpyHtoD");
  calibrate();
  must(cuMemcpyHtoD_v2(stamps_, header, sizeof header), "cuMemcpyHtoD");
}

// One launch: the intervals in which it ran.
Spans WorkKernel::stamped(std::uint64_t steps) {
  const std::uint64_t none = 0;
  std::uint64_t count = 0;
  void* params[] = {&steps, &stamps_};
  must(cuMemcpyHtoD_v2(stamps_, &none, sizeof none), "cuMemcpyHtoD");
  must(cuLaunchKernel(function_, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr), "cuLaunchKernel");
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  must(cuMemcpyDtoH_v2(&count, stamps_, sizeof count), "cuMemcpyDtoH");
  Spans spans(std::min(count, kMinRoom));
  must(cuMemcpyDtoH_v2(spans.data(), stamps_ + 2 * sizeof none, spans.size() * sizeof(Span)),
       "cuMemcpyDtoH");
  return spans;
}

// How long a step takes, and where the card's clock stands, by the try that took the least time.
// Others calibrate at the same time: what they ran in between does not count.
void WorkKernel::calibrate() {
  stamped(kCalibrationSteps);
  std::vector<double> rates;
  for (int i = 0; i < kRateTries; ++i) {
    double seconds = 0;
    for (const Span& span : stamped(kCalibrationSteps)) seconds += span.seconds();
    rates.push_back(static_cast<double>(kCalibrationSteps) / (seconds * 1e6));
  }
  std::sort(rates.begin(), rates.end());
  steps_per_us_ = rates[kRateTries / 2];
  std::uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < kClockTries; ++i) {
    const std::uint64_t before = monotonicNow();
    const Span span = stamped(1).front();
    const std::uint64_t took = monotonicNow() - before;
    if (took >= shortest) continue;
    shortest = took;
    to_monotonic_ = static_cast<std::int64_t>(before + took / 2 - span.start);
  }
}

void WorkKernel::launch(CUstream stream, double micros) {
  std::uint64_t amount = static_cast<std::uint64_t>(micros * 1000);  // nanoseconds
  if (stamps_ != 0) amount = static_cast<std::uint64_t>(micros * steps_per_us_);
  void* params[] = {&amount, &stamps_};
  must(cuLaunchKernel(function_, 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr), "cuLaunchKernel");
}

bool WorkKernel::writeSpans(const std::string& path) const {
  if (stamps_ == 0) return true;
  std::uint64_t count = 0;
  must(cuMemcpyDtoH_v2(&count, stamps_, sizeof count), "cuMemcpyDtoH");
  if (count > kRoom) return false;
  std::vector<Span> spans(count);
  if (count != 0) {
    must(cuMemcpyDtoH_v2(spans.data(), stamps_ + 2 * sizeof count, count * sizeof(Span)),
         "cuMemcpyDtoH");
  }
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "w"), std::fclose);
  if (file == nullptr) return false;
  const auto shift = static_cast<std::uint64_t>(to_monotonic_);
  for (const Span& span : spans) {
    std::fprintf(file.get(), "%llu %llu\n", static_cast<unsigned long long>(span.start + shift),
                 static_cast<unsigned long long>(span.end + shift));
  }
  return true;
}

}  // namespace divvy::bench
