// The generated stubs of the interposer, called as a program would call them.
#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "abi/cuda_entries.h"
#include "abi/cuda_protos.h"
#include "gtest/gtest.h"

namespace divvy::abi {
namespace {

constexpr unsigned index(Cu id) {
  return static_cast<unsigned>(id);
}

class Stubs : public testing::Test {
 protected:
  // A fresh copy of the library for every test: which calls were resolved is part of its state.
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "SKIPPED: a sanitizer cannot live in a second link namespace";
#endif
    const std::string folder = std::string(std::getenv("DIVVY_BUILD_DIR")) + "/tests/";
    driver_path_ = folder + "libabi_test_driver.so";
    library_ = dlmopen(LM_ID_NEWLM, (folder + "libabi_test_interposer.so").c_str(), RTLD_NOW);
    ASSERT_NE(library_, nullptr) << dlerror();
    control_ = reinterpret_cast<Control*>(dlsym(library_, "divvy_control"));
    ASSERT_NE(control_, nullptr);
    *static_cast<const char**>(const_cast<void*>(control_(5, 0))) = driver_path_.c_str();
  }
  void TearDown() override {
    if (library_) dlclose(library_);
  }

  template <class F>
  F* at(const char* symbol) {
    return reinterpret_cast<F*>(dlsym(library_, symbol));
  }
  template <Cu id>
  typename CuFn<id>::type* function() {
    return at<typename CuFn<id>::type>(kCuEntries[index(id)].symbol);
  }
  unsigned resolved() {
    return *static_cast<const unsigned*>(control_(0, 0));
  }
  unsigned lastHook() {
    return *static_cast<const unsigned*>(control_(1, 0));
  }

  using Control = const void*(unsigned what, unsigned id);
  void* library_ = nullptr;
  Control* control_ = nullptr;
  std::string driver_path_;
};

TEST_F(Stubs, BeforeFirstCall_NothingIsResolved) {
  EXPECT_EQ(resolved(), 0U);
}

TEST_F(Stubs, PassedCall_ResolvedOnceReachesDriver) {
  int version = 0;
  EXPECT_EQ(function<Cu::cuDriverGetVersion>()(&version), CUDA_SUCCESS);
  EXPECT_EQ(version, 12040);
  EXPECT_EQ(function<Cu::cuDriverGetVersion>()(&version), CUDA_SUCCESS);
  EXPECT_EQ(resolved(), 1U);
}

TEST_F(Stubs, FloatArgument_SurvivesResolver) {
  auto* call = function<Cu::cuTexRefSetMipmapLevelBias>();
  EXPECT_EQ(static_cast<int>(call(nullptr, 2.25F)), 9);
  EXPECT_EQ(static_cast<int>(call(nullptr, 2.5F)), 10);
}

TEST_F(Stubs, AllRegistersAndStack_SurviveResolver) {
  using Wide = double(long, long, long, long, long, long, double, double, double, double, double,
                      double, double, double, long, long, double);
  auto* call = at<Wide>("cuEGLInit");
  const double first = call(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 7, 8, 7, 8, 9);
  const double second = call(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 7, 8, 7, 8, 9);
  EXPECT_EQ(first, 204 + 1000.0 * 285);
  EXPECT_EQ(first, second);
}

TEST_F(Stubs, StructureByValue_SurvivesResolver) {
  CUeglFrame frame{};
  frame.width = 100;
  frame.height = 23;
  auto* call = function<Cu::cuEGLStreamProducerPresentFrame>();
  EXPECT_EQ(static_cast<int>(call(nullptr, frame, nullptr)), 123);
}

TEST_F(Stubs, WrappedCall_ReachesHookOnly) {
  CUdeviceptr pointer = 0;
  EXPECT_EQ(function<Cu::cuMemAlloc_v2>()(&pointer, 1), CUDA_ERROR_ALREADY_MAPPED);
  EXPECT_EQ(lastHook(), index(Cu::cuMemAlloc_v2));
  EXPECT_EQ(resolved(), 0U);
}

TEST_F(Stubs, Hook_ReachesDriverThroughTable) {
  auto* call = reinterpret_cast<CuFn<Cu::cuMemAlloc_v2>::type*>(const_cast<void*>(control_(4, 0)));
  EXPECT_EQ(call(nullptr, 1), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(Stubs, EntryMissingInDriver_ResolversAnswer) {
  EXPECT_EQ(function<Cu::cuCheckpointProcessUnlock>()(1, nullptr), CUDA_ERROR_NOT_FOUND);
}

TEST_F(Stubs, RacingFirstCalls_AllArrive) {
  constexpr int kThreads = 8;
  auto* call = function<Cu::cuTexRefSetMipmapLevelBias>();
  std::latch start(kThreads);
  std::vector<int> answers(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      answers[static_cast<unsigned>(i)] = static_cast<int>(call(nullptr, static_cast<float>(i)));
    });
  }
  for (auto& thread : threads) thread.join();
  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(answers[static_cast<unsigned>(i)], 4 * i);
}

TEST_F(Stubs, Exports_MatchListAndTables) {
  for (unsigned id = 0; id < kCuCount; ++id) {
    const Entry& entry = kCuEntries[id];
    const void* exported = dlsym(library_, entry.symbol);
    ASSERT_NE(exported, nullptr) << entry.symbol;
    EXPECT_EQ(control_(3, id), exported) << entry.symbol;
    EXPECT_EQ(control_(2, id) != nullptr, entry.wrapped) << entry.symbol;
  }
  for (const char* hidden : {"hook_cuInit", "divvy_cuda_real", "divvy_cuda_hooks",
                             "divvy_cuda_exports", "divvy_cuda_resolve"}) {
    EXPECT_EQ(dlsym(library_, hidden), nullptr) << hidden;
  }
}

TEST_F(Stubs, Stack_IsNotExecutable) {
  link_map* map = nullptr;
  ASSERT_EQ(dlinfo(library_, RTLD_DI_LINKMAP, &map), 0);
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(map->l_addr);
  const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(map->l_addr + header->e_phoff);
  bool seen = false;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type != PT_GNU_STACK) continue;
    seen = true;
    EXPECT_EQ(segments[i].p_flags & PF_X, 0U);
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace divvy::abi
