// I2, I3: cuGetProcAddress, every name at every version with every flag, against the bare driver.
#include <set>

#include "tenant_test.h"

namespace divvy::interposer {
namespace {

using abi::CuFn;

using LookUp = CuFn<Cu::cuGetProcAddress_v2>::type;
using LookUpV1 = CuFn<Cu::cuGetProcAddress>::type;

constexpr int kVersions[] = {2000,  3020,  4000,  7000,  10000, 11000, 11030, 11040, 11060,
                             11080, 12000, 12010, 12020, 12030, 12040, 12050, 12060, 12080,
                             12090, 13000, 13010, 13020, 13030, 13040, 13050, 99000};
constexpr cuuint64_t kFlags[] = {0, 1, 2, 3, 4};

struct Answer {
  CUresult result = CUDA_SUCCESS;
  void* address = nullptr;
  int status = -1;
};

class LookupTest : public TenantTest {
 protected:
  // The driver itself, opened past us.
  static void* bare(const char* symbol) {
    static void* const handle = [] {
      auto* const open = reinterpret_cast<void* (*)(const char*, int)>(
          ::dlvsym(RTLD_NEXT, "dlopen", "GLIBC_2.34"));
      return (open == nullptr ? ::dlopen : open)(control().driver_path, RTLD_NOW | RTLD_LOCAL);
    }();
    return ::dlsym(handle, symbol);
  }

  static Answer ask(LookUp* look_up, const char* name, int version, cuuint64_t flags) {
    Answer answer;
    CUdriverProcAddressQueryResult status{};
    answer.result = look_up(name, &answer.address, version, flags, &status);
    answer.status = static_cast<int>(status);
    return answer;
  }

  static LookUp* ours() { return &cu<Cu::cuGetProcAddress_v2>; }
  static LookUp* theirs() { return reinterpret_cast<LookUp*>(bare("cuGetProcAddress_v2")); }
};

// The entry point whose exported address in the driver this is, or kCount.
Cu identifyBare(void* address, void* (*find)(const char*)) {
  for (const abi::Entry& entry : abi::kCuEntries) {
    if (find(entry.symbol) == address) return abi::findCuSymbol(entry.symbol);
  }
  return Cu::kCount;
}

TEST_F(LookupTest, DriverOpenedPastInterposer_HasNoControlEntry) {
  if (outside()) return;
  makeReady();
  EXPECT_NE(bare("cuInit"), nullptr);
  EXPECT_EQ(bare("divvy_control"), nullptr);
  EXPECT_NE(bare("cuMemAlloc_v2"), ::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), "cuMemAlloc_v2"));
}

TEST_F(LookupTest, EveryNameVersionAndFlag_I2AnswersAsDriver) {
  if (outside()) return;
  makeReady();
  std::size_t asked = 0;
  for (const abi::Family& family : abi::kCuFamilies) {
    for (const int version : kVersions) {
      for (const cuuint64_t flags : kFlags) {
        const Answer got = ask(ours(), family.base, version, flags);
        const Answer expected = ask(theirs(), family.base, version, flags);
        ASSERT_EQ(got.result, expected.result) << family.base << ' ' << version << ' ' << flags;
        ASSERT_EQ(got.status, expected.status) << family.base << ' ' << version << ' ' << flags;
        ASSERT_EQ(got.address == nullptr, expected.address == nullptr)
            << family.base << ' ' << version << ' ' << flags;
        ++asked;
      }
    }
  }
  EXPECT_GT(asked, 50'000u);
  EXPECT_EQ(faults(22), 0u) << "a name of the list was taken for a newer one";
}

// What we do not change costs nothing: the program gets the driver's own function.
TEST_F(LookupTest, UnwrappedEntries_I1DriversOwnFunction) {
  if (outside()) return;
  makeReady();
  std::set<Cu> passed;
  for (const abi::Family& family : abi::kCuFamilies) {
    for (const int version : kVersions) {
      const Answer expected = ask(theirs(), family.base, version, 0);
      const Cu id = expected.address == nullptr ? Cu::kCount : identifyBare(expected.address, bare);
      if (id == Cu::kCount || abi::entryOf(id).wrapped) continue;
      ASSERT_EQ(ask(ours(), family.base, version, 0).address, expected.address) << family.base;
      passed.insert(id);
    }
  }
  EXPECT_GT(passed.size(), 250u);
}

// Of two versions with different parameters the program gets the one that it asked for.
TEST_F(LookupTest, WrappedEntries_I3StandForSameEntryPoint) {
  if (outside()) return;
  makeReady();
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
  std::set<Cu> wrapped_seen;
  for (const abi::Family& family : abi::kCuFamilies) {
    for (const int version : kVersions) {
      for (const cuuint64_t flags : {cuuint64_t{0}, cuuint64_t{2}}) {
        const Answer expected = ask(theirs(), family.base, version, flags);
        if (expected.address == nullptr) continue;
        const Answer got = ask(ours(), family.base, version, flags);
        const Cu id = identifyBare(expected.address, bare);
        ASSERT_NE(id, Cu::kCount) << family.base << ' ' << version;
        const abi::Entry& entry = abi::entryOf(id);
        if (!entry.wrapped) {
          ASSERT_EQ(got.address, expected.address) << entry.symbol;
          continue;
        }
        // A wrapper of ours, and not the driver: its exported stub is a jump to the same code.
        ASSERT_NE(got.address, expected.address) << entry.symbol << " came unwrapped";
        Dl_info where{}, exported{};
        ASSERT_NE(::dladdr(got.address, &where), 0) << entry.symbol;
        ASSERT_NE(::dladdr(::dlsym(library, entry.symbol), &exported), 0);
        ASSERT_EQ(where.dli_fbase, exported.dli_fbase) << entry.symbol;
        wrapped_seen.insert(id);
      }
    }
  }
  EXPECT_GT(wrapped_seen.size(), 150u);
}

// The wrappers themselves must not be mixed up: twins and versions are different functions.
TEST_F(LookupTest, TwinsAndVersions_I3DistinctFunctions) {
  if (outside()) return;
  makeReady();
  const auto at = [](const char* name, int version, cuuint64_t flags) {
    return ask(ours(), name, version, flags).address;
  };
  EXPECT_NE(at("cuLaunchKernel", 12000, 0), at("cuLaunchKernel", 12000, 2));
  EXPECT_NE(at("cuMemAllocAsync", 12000, 0), at("cuMemAllocAsync", 12000, 2));
  EXPECT_NE(at("cuGraphInstantiate", 11000, 0), at("cuGraphInstantiate", 12000, 0));
  EXPECT_NE(at("cuMemAlloc", 2000, 0), at("cuMemAlloc", 3020, 0));
  EXPECT_NE(at("cuCtxCreate", 11030, 0), at("cuCtxCreate", 11040, 0));
  EXPECT_EQ(at("cuMemAlloc", 3020, 0), at("cuMemAlloc", 13000, 2)) << "a call without a stream";
}

TEST_F(LookupTest, BothLookUpVersions_SameAnswers) {
  if (outside()) return;
  makeReady();
  auto* const v1 = reinterpret_cast<LookUpV1*>(ask(ours(), "cuGetProcAddress", 11040, 0).address);
  auto* const bare_v1 = reinterpret_cast<LookUpV1*>(bare("cuGetProcAddress"));
  ASSERT_NE(v1, nullptr);
  for (const abi::Family& family : abi::kCuFamilies) {
    void* old_way = nullptr;
    void* bare_way = nullptr;
    const CUresult result = v1(family.base, &old_way, 12000, 0);
    ASSERT_EQ(result, bare_v1(family.base, &bare_way, 12000, 0)) << family.base;
    ASSERT_EQ(old_way, ask(ours(), family.base, 12000, 0).address) << family.base;
  }
}

TEST_F(LookupTest, UnknownName_DriversAnswer) {
  if (outside()) return;
  makeReady();
  const Answer got = ask(ours(), "cuNotInventedYet", 12000, 0);
  const Answer expected = ask(theirs(), "cuNotInventedYet", 12000, 0);
  EXPECT_EQ(got.result, expected.result);
  EXPECT_EQ(got.status, expected.status);
  EXPECT_EQ(got.address, nullptr);
}

TEST_F(LookupTest, BadArguments_InvalidValueAsDriver) {
  if (outside()) return;
  makeReady();
  void* address = nullptr;
  for (LookUp* look_up : {ours(), theirs()}) {
    EXPECT_EQ(look_up(nullptr, &address, 12000, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(look_up("cuInit", nullptr, 12000, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(look_up("cuInit", &address, 12000, 0, nullptr), CUDA_SUCCESS);
  }
}

TEST_F(LookupTest, WrapperFoundByLookUp_Accounts) {
  if (outside({.ceiling = kGiB})) return;
  makeReady();
  auto* const allocate =
      reinterpret_cast<CuFn<Cu::cuMemAlloc_v2>::type*>(ask(ours(), "cuMemAlloc", 12000, 0).address);
  CUdeviceptr block = 0;
  EXPECT_EQ(allocate(&block, 2 * kGiB), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(allocate(&block, 1 * kMiB), CUDA_SUCCESS);
  EXPECT_EXACT();
}

}  // namespace
}  // namespace divvy::interposer
