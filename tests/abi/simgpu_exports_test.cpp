// The generated exports of the simulated libraries: a body where there is one, "not supported" and
// a count where there is none.
#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "abi/cuda_entries.h"
#include "abi/cuda_protos.h"
#include "abi/hook.h"
#include "abi/nvml_entries.h"
#include "abi/nvml_protos.h"
#include "gtest/gtest.h"

namespace divvy::abi {
namespace {

constexpr unsigned index(Cu id) {
  return static_cast<unsigned>(id);
}

class SimExports : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "SKIPPED: a sanitizer cannot live in a second link namespace";
#endif
    const std::string folder = std::string(std::getenv("DIVVY_BUILD_DIR")) + "/tests/";
    cuda_ = dlmopen(LM_ID_NEWLM, (folder + "libabi_test_simgpu.so").c_str(), RTLD_NOW);
    ASSERT_NE(cuda_, nullptr) << dlerror();
    nvml_ = dlmopen(LM_ID_NEWLM, (folder + "libabi_test_simgpu_nvml.so").c_str(), RTLD_NOW);
    ASSERT_NE(nvml_, nullptr) << dlerror();
  }
  void TearDown() override {
    if (cuda_) dlclose(cuda_);
    if (nvml_) dlclose(nvml_);
  }

  template <Cu id>
  typename CuFn<id>::type* cu() {
    return reinterpret_cast<typename CuFn<id>::type*>(
        dlsym(cuda_, kCuEntries[static_cast<unsigned>(id)].symbol));
  }
  template <Nv id>
  typename NvFn<id>::type* nv() {
    return reinterpret_cast<typename NvFn<id>::type*>(
        dlsym(nvml_, kNvEntries[static_cast<unsigned>(id)].symbol));
  }
  const void* inside(char what) {
    const void* answer = nullptr;
    const CUuuid key{{what}};
    EXPECT_EQ(cu<Cu::cuGetExportTable>()(&answer, &key), CUDA_SUCCESS);
    return answer;
  }

  void* cuda_ = nullptr;
  void* nvml_ = nullptr;
};

TEST_F(SimExports, EntryWithBody_Answers) {
  int version = 0;
  EXPECT_EQ(cu<Cu::cuDriverGetVersion>()(&version), CUDA_SUCCESS);
  EXPECT_EQ(version, 11040);
  EXPECT_EQ(static_cast<int>(cu<Cu::cuTexRefSetMipmapLevelBias>()(nullptr, 1.5F)), 6);
  unsigned count = 0;
  EXPECT_EQ(nv<Nv::nvmlDeviceGetCount_v2>()(&count), NVML_SUCCESS);
  EXPECT_EQ(count, 3U);
}

TEST_F(SimExports, EntryWithoutBody_NotSupportedAndCounted) {
  const auto* counts = static_cast<const unsigned*>(inside(1));
  EXPECT_EQ(cu<Cu::cuCtxSynchronize>()(), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cu<Cu::cuCtxSynchronize>()(), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(counts[index(Cu::cuCtxSynchronize)], 2U);
  EXPECT_EQ(counts[index(Cu::cuDriverGetVersion)], 0U);
  EXPECT_EQ(nv<Nv::nvmlShutdown>()(), NVML_ERROR_NOT_SUPPORTED);
}

TEST_F(SimExports, TextEntryWithoutBody_ReturnsText) {
  EXPECT_STREQ(nv<Nv::nvmlErrorString>()(NVML_SUCCESS), "not supported");
}

TEST_F(SimExports, Implements_TellsBodies) {
  using Implements = bool(unsigned);
  auto* implements = reinterpret_cast<Implements*>(const_cast<void*>(inside(3)));
  unsigned bodies = 0;
  for (unsigned id = 0; id < kCuCount; ++id) bodies += implements(id) ? 1 : 0;
  EXPECT_EQ(bodies, 3U);
  EXPECT_TRUE(implements(index(Cu::cuDriverGetVersion)));
  EXPECT_FALSE(implements(index(Cu::cuInit)));
}

TEST_F(SimExports, TableEntry_CanBeExchanged) {
  auto** table = static_cast<void**>(const_cast<void*>(inside(0)));
  table[index(Cu::cuInit)] = table[index(Cu::cuTexRefSetMipmapLevelBias)];
  using AsBias = int(void*, float);
  auto* call = reinterpret_cast<AsBias*>(dlsym(cuda_, "cuInit"));
  EXPECT_EQ(call(nullptr, 3.0F), 12);
}

TEST_F(SimExports, Exports_MatchList) {
  const Places exports(static_cast<const std::int32_t*>(inside(2)));
  for (unsigned id = 0; id < kCuCount; ++id) {
    ASSERT_NE(exports[id], nullptr);
    EXPECT_EQ(dlsym(cuda_, kCuEntries[id].symbol), exports[id]) << kCuEntries[id].symbol;
  }
  for (unsigned id = 0; id < kNvCount; ++id) {
    EXPECT_NE(dlsym(nvml_, kNvEntries[id].symbol), nullptr) << kNvEntries[id].symbol;
  }
  EXPECT_EQ(dlsym(cuda_, "sim_cuDriverGetVersion"), nullptr);
  EXPECT_EQ(dlsym(cuda_, "simgpu_cuda_table"), nullptr);
}

}  // namespace
}  // namespace divvy::abi
