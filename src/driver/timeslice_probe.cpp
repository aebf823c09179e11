#include "driver/timeslice_probe.h"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include "cuda_device.h"

namespace divvy::driver {
namespace {

using abi::Cu;

// Functions of libdivvy-timeslice.so, as in interposer/timeslice.h.
using GroupsFunction = unsigned();
using SetFunction = unsigned(unsigned first, unsigned end, unsigned micros);
using FaultFunction = unsigned();

constexpr unsigned kShortSlice = 1000;  // microseconds
constexpr unsigned kLongSlice = 3 * kShortSlice;
constexpr unsigned kAsked = 75;      // percent of the two slices together
constexpr unsigned kTolerance = 10;  // percentage points
constexpr std::size_t kKernels = 400;
constexpr std::size_t kEnough = 250;  // kernels after which both are compared
constexpr unsigned kRounds = 5;       // a busy machine may compare too late
constexpr unsigned kMaxReadings = 100;
constexpr double kKernelMs = 0.4;
constexpr std::uint64_t kCalibrationSteps = 200'000;

// On a simulated device steps are nanoseconds. On a real one a step takes GPU time only while it
// runs, but the device's clocks continue during other contexts' slices.
constexpr const char* kBuiltin = "simgpu-builtin 1\nkernel work = spin\n";
constexpr const char* kPtx = R"(.version 6.4
.target sm_52
.address_size 64
.visible .entry work(.param .u64 steps)
{
  .reg .pred %more, %never;
  .reg .b64 %left, %value;
  ld.param.u64 %left, [steps];
  mov.u64 %value, %left;
again:
  mad.lo.u64 %value, %value, 6364136223846793005, 1442695040888963407;
  sub.u64 %left, %left, 1;
  setp.ne.u64 %more, %left, 0;
  @%more bra again;
  setp.eq.u64 %never, %value, 1;
  @%never trap;
  ret;
}
)";

// The driver calls of this probe.
struct ProbeCalls {
  explicit ProbeCalls(const Library& cuda)
      : init(cuda.find<Function<Cu::cuInit>>("cuInit")),
        create(cuda.find<Function<Cu::cuCtxCreate_v2>>("cuCtxCreate_v2")),
        destroy(cuda.find<Function<Cu::cuCtxDestroy_v2>>("cuCtxDestroy_v2")),
        use(cuda.find<Function<Cu::cuCtxSetCurrent>>("cuCtxSetCurrent")),
        load(cuda.find<Function<Cu::cuModuleLoadData>>("cuModuleLoadData")),
        function(cuda.find<Function<Cu::cuModuleGetFunction>>("cuModuleGetFunction")),
        launch(cuda.find<Function<Cu::cuLaunchKernel>>("cuLaunchKernel")),
        make_event(cuda.find<Function<Cu::cuEventCreate>>("cuEventCreate")),
        record(cuda.find<Function<Cu::cuEventRecord>>("cuEventRecord")),
        query(cuda.find<Function<Cu::cuEventQuery>>("cuEventQuery")),
        wait(cuda.find<Function<Cu::cuEventSynchronize>>("cuEventSynchronize")),
        elapsed(cuda.find<Function<Cu::cuEventElapsedTime>>("cuEventElapsedTime")) {}

  bool complete() const {
    return init && create && destroy && use && load && function && launch && make_event && record &&
           query && wait && elapsed;
  }

  Function<Cu::cuInit>* init;
  Function<Cu::cuCtxCreate_v2>* create;
  Function<Cu::cuCtxDestroy_v2>* destroy;
  Function<Cu::cuCtxSetCurrent>* use;
  Function<Cu::cuModuleLoadData>* load;
  Function<Cu::cuModuleGetFunction>* function;
  Function<Cu::cuLaunchKernel>* launch;
  Function<Cu::cuEventCreate>* make_event;
  Function<Cu::cuEventRecord>* record;
  Function<Cu::cuEventQuery>* query;
  Function<Cu::cuEventSynchronize>* wait;
  Function<Cu::cuEventElapsedTime>* elapsed;
};

// One of the two contexts. After an error all further calls do nothing.
class PreemptionCandidate {
 public:
  PreemptionCandidate(const ProbeCalls& driver, CUdevice device) : driver_(driver) {
    check("cuCtxCreate", driver_.create(&context_, 0, device));
    CUmodule module = nullptr;
    if (good() && driver_.load(&module, kBuiltin) != CUDA_SUCCESS)
      check("cuModuleLoadData", driver_.load(&module, kPtx));
    if (good()) check("cuModuleGetFunction", driver_.function(&work_, module, "work"));
    for (std::size_t i = 0; i <= kKernels && good(); ++i)
      check("cuEventCreate", driver_.make_event(&events_.emplace_back(nullptr), 0));
  }
  ~PreemptionCandidate() {
    if (context_ != nullptr) driver_.destroy(context_);
  }
  PreemptionCandidate(const PreemptionCandidate&) = delete;
  PreemptionCandidate& operator=(const PreemptionCandidate&) = delete;

  bool good() const { return fault_.empty(); }
  const std::string& fault() const { return fault_; }

  // Returns the steps that take kKernelMs without another context.
  std::uint64_t calibrate() {
    float ms = 0;
    for (int i = 0; i < 2 && begin(); ++i) {  // the first one includes loading
      check("cuEventRecord", driver_.record(events_[0], nullptr));
      launch(kCalibrationSteps, 1);
      if (good()) check("cuEventSynchronize", driver_.wait(events_[1]));
      if (good()) check("cuEventElapsedTime", driver_.elapsed(&ms, events_[0], events_[1]));
    }
    if (good() && ms <= 0) fault_ = "a kernel took no time";
    return good() ? static_cast<std::uint64_t>(kKernelMs / ms * kCalibrationSteps) : 0;
  }

  void queue(std::uint64_t steps) {
    if (!begin()) return;
    done_ = 0;
    for (std::size_t i = 1; i <= kKernels; ++i) launch(steps, i);
  }

  // Waits until this many kernels have ended.
  void wait(std::size_t kernels) {
    if (begin()) check("cuEventSynchronize", driver_.wait(events_[kernels]));
  }

  // Number of ended kernels of the last queue().
  std::size_t done() {
    if (!begin()) return done_;
    while (done_ < kKernels && driver_.query(events_[done_ + 1]) == CUDA_SUCCESS) ++done_;
    return done_;
  }

 private:
  bool begin() {
    if (good()) check("cuCtxSetCurrent", driver_.use(context_));
    return good();
  }
  void launch(std::uint64_t steps, std::size_t event) {
    void* params[] = {&steps};
    if (good())
      check("cuLaunchKernel", driver_.launch(work_, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr));
    if (good()) check("cuEventRecord", driver_.record(events_[event], nullptr));
  }
  void check(const char* call, CUresult status) {
    if (status != CUDA_SUCCESS && good()) fault_ = refused(call, status).message();
  }

  const ProbeCalls& driver_;
  CUcontext context_ = nullptr;
  CUfunction work_ = nullptr;
  std::vector<CUevent> events_;
  std::size_t done_ = 0;
  std::string fault_;
};

struct CompletedKernels {
  std::size_t strong = 0;
  std::size_t weak = 0;
};

// Counts of both at one instant. Nothing: the machine was too busy to read both at once.
std::optional<CompletedKernels> countCompleted(PreemptionCandidate& strong,
                                               PreemptionCandidate& weak) {
  for (unsigned i = 0; i < kMaxReadings; ++i) {
    const std::size_t before = weak.done();
    const CompletedKernels both{strong.done(), weak.done()};
    if (both.weak - before <= 1) return both;
  }
  return std::nullopt;
}

// Percent of the kernels that were `strong`'s while both had work. Nothing: one of them ran out of
// work before it was read.
std::optional<unsigned> contend(PreemptionCandidate& strong, PreemptionCandidate& weak,
                                std::uint64_t steps) {
  for (unsigned round = 0; round < kRounds; ++round) {
    strong.queue(steps);
    weak.queue(steps);
    const std::optional<CompletedKernels> first = countCompleted(strong, weak);
    strong.wait(kEnough);
    const std::optional<CompletedKernels> last = countCompleted(strong, weak);
    strong.wait(kKernels);
    weak.wait(kKernels);
    if (!strong.good() || !weak.good()) return std::nullopt;
    if (!first || !last || first->strong > kEnough / 2 || last->strong == kKernels) continue;
    const std::size_t strong_got = last->strong - first->strong;
    const std::size_t weak_got = last->weak - first->weak;
    return static_cast<unsigned>(100 * strong_got / (strong_got + weak_got));
  }
  return std::nullopt;
}

std::string faultText(unsigned fault) {
  if (fault >= 0x10000)
    return "the kernel module refused with errno " + std::to_string(fault - 0x10000);
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "status 0x%x", fault);
  return std::string("the kernel module refused with ") + text.data();
}

// Groups created together with a context: [begin, end).
struct GroupRange {
  unsigned begin = 0;
  unsigned end = 0;
};

}  // namespace

bool TimesliceProbe::holds() const {
  const auto close = [this](unsigned got) {
    return got + kTolerance >= asked && got <= asked + kTolerance;
  };
  return close(first) && close(second);
}

std::string TimesliceProbe::text() const {
  return "of two contexts, the one with three times the slice got " + std::to_string(first) +
         "% and " + std::to_string(second) + "% of the device instead of " + std::to_string(asked) +
         "%";
}

Result<TimesliceProbe> probeTimeslice(const std::string& cuda_path, const std::string& uuid) {
  auto* groups = reinterpret_cast<GroupsFunction*>(dlsym(RTLD_DEFAULT, "divvy_timeslice_groups"));
  auto* set = reinterpret_cast<SetFunction*>(dlsym(RTLD_DEFAULT, "divvy_timeslice_set"));
  auto* fault = reinterpret_cast<FaultFunction*>(dlsym(RTLD_DEFAULT, "divvy_timeslice_fault"));
  if (groups == nullptr || set == nullptr || fault == nullptr)
    return Error{ErrorCode::kUnsupported, "libdivvy-timeslice.so was not loaded"};
  Result<Library> cuda = Library::open(cuda_path);
  if (!cuda) return cuda.error();
  const ProbeCalls driver(*cuda);
  if (!driver.complete())
    return Error{ErrorCode::kUnsupported, cuda->path() + " lacks calls that this needs"};
  if (const CUresult status = driver.init(0); status != CUDA_SUCCESS)
    return refused("cuInit", status);
  const Result<CUdevice> device = findDevice(*cuda, uuid);
  if (!device) return device.error();
  GroupRange span_a{groups(), 0};
  PreemptionCandidate a(driver, *device);
  GroupRange span_b{span_a.end = groups(), 0};
  PreemptionCandidate b(driver, *device);
  span_b.end = groups();
  const std::uint64_t steps = a.calibrate();
  static_cast<void>(b.calibrate());
  if (!a.good() || !b.good())
    return Error{ErrorCode::kUnavailable, a.good() ? b.fault() : a.fault()};
  if (span_a.begin == span_a.end || span_b.begin == span_b.end)
    return Error{ErrorCode::kUnsupported, "the driver made its channel groups unseen"};
  // Each context gets the long slice once, because one result may be what the device does anyway.
  std::array<unsigned, 2> got{};
  for (unsigned turn = 0; turn < 2; ++turn) {
    const GroupRange& longer = turn == 0 ? span_a : span_b;
    const GroupRange& shorter = turn == 0 ? span_b : span_a;
    if (set(longer.begin, longer.end, kLongSlice) == 0 ||
        set(shorter.begin, shorter.end, kShortSlice) == 0)
      return Error{ErrorCode::kUnsupported, faultText(fault())};
    const std::optional<unsigned> percent = turn == 0 ? contend(a, b, steps) : contend(b, a, steps);
    if (!a.good() || !b.good())
      return Error{ErrorCode::kUnavailable, a.good() ? b.fault() : a.fault()};
    if (!percent)
      return Error{ErrorCode::kUnavailable, "this machine was too busy to measure the shares"};
    got[turn] = *percent;
  }
  return TimesliceProbe{kAsked, got[0], got[1]};
}

}  // namespace divvy::driver
