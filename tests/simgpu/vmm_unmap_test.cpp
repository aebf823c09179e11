// Unmapping under work that uses the memory: what counts as that, and what becomes of the work.
#include "exec_driver.h"
#include "vmm_driver.h"

namespace divvy::simgpu {
namespace {

class Unmap : public DriverTest {};

std::uint64_t unmapsUnderWork() {
  const auto view = readCard(std::getenv("SIMGPU_DIR"), 0);
  return view ? view->unmapped_under_work : ~std::uint64_t{0};
}

// The driver's own kernel fill(u32* out, u64 count, u32 value) in the legacy stream.
CUresult launchFill(CUdeviceptr out, std::uint64_t count, std::uint32_t value) {
  return launch(builtin("fill"), CUstream{nullptr}, out, count, value);
}

// Unmaps and maps again under what is behind a closed gate; what the books count then.
std::uint64_t remapUnder(CUstream stream, const std::function<void(CUdeviceptr)>& work) {
  const auto handle = create(kUnit);
  const CUdeviceptr p = mapNew(kUnit, handle);
  const std::uint64_t before = unmapsUnderWork();
  Gate gate(stream);
  work(p);
  EXPECT_EQ(cu<Cu::cuMemUnmap>(p, size_t{kUnit}), CUDA_SUCCESS);
  EXPECT_EQ(map(p, kUnit, handle), CUDA_SUCCESS);
  EXPECT_EQ(allow(p, kUnit, kRw), CUDA_SUCCESS);
  gate.open();
  return unmapsUnderWork() - before;
}

TEST_F(Unmap, UnmapUnderKernel_IsCounted) {
  runReady([] {
    EXPECT_EQ(remapUnder(nullptr, [](CUdeviceptr p) { launchFill(p, kUnit / 4, 1); }), 1U);
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS) << "the kernel cannot know";
    const CUdeviceptr p = mapNew(2 * kUnit, create(2 * kUnit));
    EXPECT_EQ(launchFill(p, kUnit / 4, 1), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemUnmap>(p, size_t{2 * kUnit}), CUDA_SUCCESS);
    EXPECT_EQ(unmapsUnderWork(), 1U) << "all kernels had ended";
  });
}

// Work that waits for a host function, of which no kernel is pending, and an unmap meanwhile.
class Held {
 public:
  Held() : stream_(makeStream()) {
    const CUhostFn wait = [](void* flag) {
      while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
    };
    EXPECT_EQ(cu<Cu::cuLaunchHostFunc>(stream_, wait, static_cast<void*>(&go_)), CUDA_SUCCESS);
  }
  ~Held() {
    go_ = true;
    sync(stream_);
  }
  CUstream stream() const { return stream_; }
  // How much worse the books became.
  std::uint64_t unmap(CUdeviceptr p) const {
    const std::uint64_t before = unmapsUnderWork();
    EXPECT_EQ(cu<Cu::cuMemUnmap>(p, size_t{kUnit}), CUDA_SUCCESS);
    return unmapsUnderWork() - before;
  }

 private:
  std::atomic<bool> go_{false};
  const CUstream stream_;
};

// What unmapping the first, and another, of three pieces of memory counts while `work(stream,
// first, second)` is pending: two digits.
template <typename Work>
std::string unmapsUnder(Work work) {
  CUdeviceptr at[3];
  for (CUdeviceptr& p : at) p = mapNew(kUnit, create(kUnit));
  const Held held;
  work(held.stream(), at[0], at[1]);
  const std::uint64_t another = held.unmap(at[2]);
  return std::to_string(held.unmap(at[0])) + std::to_string(another);
}

TEST_F(Unmap, CopiesAndMemsets_DisturbedWhereReached) {
  runReady([] {
    void* const memory = pinned<std::byte>(kUnit);
    // Of a context each: the work faults when its memory is gone.
    const auto inContext = [](auto work) {
      CUcontext context = nullptr;
      EXPECT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0U, CUdevice{0}), CUDA_SUCCESS);
      const std::string counted = unmapsUnder(work);
      EXPECT_EQ(cu<Cu::cuCtxDestroy_v2>(context), CUDA_SUCCESS);
      return counted;
    };
    EXPECT_EQ(inContext([&](CUstream s, CUdeviceptr p, CUdeviceptr) {
                cu<Cu::cuMemcpyDtoHAsync_v2>(memory, p + 512, size_t{512}, s);
              }),
              "10");
    EXPECT_EQ(inContext([&](CUstream s, CUdeviceptr p, CUdeviceptr) {
                const void* from = memory;
                cu<Cu::cuMemcpyHtoDAsync_v2>(p, from, size_t{1}, s);
              }),
              "10");
    EXPECT_EQ(inContext([&](CUstream s, CUdeviceptr p, CUdeviceptr q) {
                cu<Cu::cuMemcpyDtoDAsync_v2>(q, p, size_t{kUnit}, s);
              }),
              "10");
    EXPECT_EQ(inContext([&](CUstream s, CUdeviceptr p, CUdeviceptr) {
                cu<Cu::cuMemsetD32Async>(p, 7U, size_t{kUnit / 4}, s);
              }),
              "10");
    EXPECT_EQ(inContext([&](CUstream s, CUdeviceptr, CUdeviceptr q) {
                cu<Cu::cuMemsetD32Async>(q, 7U, size_t{kUnit / 4}, s);
              }),
              "00");
  });
}

TEST_F(Unmap, BuiltinKernels_DisturbedByPointers) {
  runReady([] {
    const auto under = [](const char* kernel, auto... arguments) {
      CUcontext context = nullptr;
      EXPECT_EQ(cu<Cu::cuCtxCreate_v2>(&context, 0U, CUdevice{0}), CUDA_SUCCESS);
      const std::string counted = unmapsUnder([&](CUstream s, CUdeviceptr p, CUdeviceptr q) {
        EXPECT_EQ(launch(builtin(kernel), s, arguments(p, q)...), CUDA_SUCCESS);
      });
      EXPECT_EQ(cu<Cu::cuCtxDestroy_v2>(context), CUDA_SUCCESS);
      return counted;
    };
    const auto first = [](CUdeviceptr p, CUdeviceptr) { return p; };
    const auto second = [](CUdeviceptr, CUdeviceptr q) { return q; };
    const auto many = [](CUdeviceptr, CUdeviceptr) { return std::uint64_t{1024}; };
    const auto value = [](CUdeviceptr, CUdeviceptr) { return 3U; };
    EXPECT_EQ(under("fill", first, many, value), "10");
    EXPECT_EQ(under("fill", second, many, value), "00");
    EXPECT_EQ(under("copy", second, first, many), "10");
    EXPECT_EQ(under("checksum", first, second, many), "10") << "where the sum goes";
    EXPECT_EQ(under("atomic_add", first, value), "10");
    EXPECT_EQ(under("spin", many), "11") << "nobody knows what it touches";
  });
}

// Adds `value` to a word, waits for another of the host's, adds to a third.
constexpr const char* kVisits = R"(
.version 9.0
.target sm_75
.address_size 64
.visible .entry visit(.param .u64 first, .param .u64 flag, .param .u64 second)
{
  .reg .pred %p<2>;
  .reg .b32 %r<2>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [first];
  ld.param.u64 %rd2, [flag];
  ld.param.u64 %rd3, [second];
  red.global.add.u32 [%rd1], 1;
  st.global.u32 [%rd2+4], 1;
wait:
  ld.volatile.global.u32 %r1, [%rd2];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra wait;
  red.global.add.u32 [%rd3], 1;
  ret;
}
)";

// A kernel that has been at the first and is yet to come to the second.
class Visit {
 public:
  Visit() : flags_(pinned<std::uint32_t>(2)), function_(functionOf(loadText(kVisits), "visit")) {
    for (CUdeviceptr& p : at) p = mapNew(kUnit, create(kUnit));
    cu<Cu::cuMemsetD8_v2>(at[0], static_cast<unsigned char>(0), size_t{kUnit});
    EXPECT_EQ(launchShape(function_, 1, 1, stream_, at[0], deviceView(flags_), at[1]),
              CUDA_SUCCESS);
    EXPECT_TRUE(eventually([&] { return std::atomic_ref(flags_[1]).load() == 1; }));
  }
  CUresult goOn() {
    std::atomic_ref(flags_[0]).store(1);
    return sync(stream_);
  }

  CUdeviceptr at[3] = {};

 private:
  std::uint32_t* flags_;
  CUfunction function_;
  CUstream stream_ = makeStream();
};

// Takes memory away and puts it back.
void blink(CUdeviceptr p) {
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(cu<Cu::cuMemRetainAllocationHandle>(&handle, reinterpret_cast<void*>(p)), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemUnmap>(p, size_t{kUnit}), CUDA_SUCCESS);
  EXPECT_EQ(map(p, kUnit, handle), CUDA_SUCCESS);
  EXPECT_EQ(allow(p, kUnit, kRw), CUDA_SUCCESS);
}

TEST_F(Unmap, InterpretedKernel_DisturbedByTouched) {
  runReady([] {
    Visit visit;
    blink(visit.at[2]);
    EXPECT_EQ(unmapsUnderWork(), 0U) << "it never goes there";
    blink(visit.at[0]);
    EXPECT_EQ(unmapsUnderWork(), 1U);
    EXPECT_EQ(visit.goOn(), CUDA_SUCCESS);
    EXPECT_EQ(unmapsUnderWork(), 1U);
  });
}

TEST_F(Unmap, InterpretedKernel_DisturbedByLaterTouch) {
  runReady([] {
    Visit visit;
    blink(visit.at[1]);
    EXPECT_EQ(unmapsUnderWork(), 0U);
    EXPECT_EQ(visit.goOn(), CUDA_SUCCESS) << "the memory is back in time";
    EXPECT_EQ(unmapsUnderWork(), 1U);
  });
}

TEST_F(Unmap, StrictCard_LaterTouchPoisonsContext) {
  runReady(
      [] {
        Visit visit;
        blink(visit.at[2]);
        blink(visit.at[1]);
        EXPECT_EQ(visit.goOn(), CUDA_ERROR_ILLEGAL_ADDRESS);
      },
      {{"SIMGPU_FAULTS", "strict-unmap"}});
}

TEST_F(Unmap, StrictCard_PendingWorkPoisonsContext) {
  runReady(
      [] {
        EXPECT_EQ(remapUnder(nullptr, [](CUdeviceptr p) { launchFill(p, kUnit / 4, 1); }), 1U);
        EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_ERROR_ILLEGAL_ADDRESS);
      },
      {{"SIMGPU_FAULTS", "strict-unmap"}});
}

TEST_F(Unmap, StrictCard_OtherUnmapIsHarmless) {
  runReady(
      [] {
        const CUdeviceptr p = mapNew(kUnit, create(kUnit));
        Gate gate(nullptr);
        EXPECT_EQ(launchFill(p, kUnit / 4, 1), CUDA_SUCCESS);
        EXPECT_EQ(cu<Cu::cuMemUnmap>(mapNew(kUnit, create(kUnit)), size_t{kUnit}), CUDA_SUCCESS);
        gate.open();
        EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
        EXPECT_EQ(unmapsUnderWork(), 0U);
      },
      {{"SIMGPU_FAULTS", "strict-unmap"}});
}

TEST_F(Unmap, StrictAnyCard_OtherUnmapPoisons) {
  runReady(
      [] {
        const CUdeviceptr p = mapNew(kUnit, create(kUnit));
        const CUdeviceptr other = mapNew(kUnit, create(kUnit));
        Gate gate(nullptr);
        EXPECT_EQ(launchFill(p, kUnit / 4, 1), CUDA_SUCCESS);
        EXPECT_EQ(cu<Cu::cuMemUnmap>(other, size_t{kUnit}), CUDA_SUCCESS);
        gate.open();
        EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_ERROR_ILLEGAL_ADDRESS);
        EXPECT_EQ(unmapsUnderWork(), 1U);
      },
      {{"SIMGPU_FAULTS", "strict-unmap=any"}});
}

}  // namespace
}  // namespace divvy::simgpu
