// Drivers that lack what we and newer programs take for granted.
#include "tenant_test.h"

namespace divvy::interposer {
namespace {

constexpr int kFound = 0, kUnknown = 1;

class OddDriverTest : public TenantTest {
 protected:
  static bool outsideWith(const std::string& driver) {
    Tenancy tenancy;
    tenancy.driver_path = built("tests/tiny-cuda/" + driver + "/libcuda.so.1");
    tenancy.driver = false;
    return outside(tenancy);
  }

  struct Answer {
    CUresult result;
    void* address;
    int status;
  };
  static Answer askV2(const char* name, int version) {
    Answer answer{CUDA_ERROR_UNKNOWN, nullptr, -1};
    CUdriverProcAddressQueryResult status{};
    answer.result =
        cu<Cu::cuGetProcAddress_v2>(name, &answer.address, version, cuuint64_t{0}, &status);
    answer.status = static_cast<int>(status);
    return answer;
  }
  static Answer askV1(const char* name, int version) {
    Answer answer{CUDA_ERROR_UNKNOWN, nullptr, -1};
    answer.result = cu<Cu::cuGetProcAddress>(name, &answer.address, version, cuuint64_t{0});
    return answer;
  }
  static void expectOurs(void* address, const char* symbol) {
    Dl_info where{}, us{};
    ASSERT_NE(::dladdr(address, &where), 0) << symbol;
    ASSERT_NE(::dladdr(::dlsym(RTLD_DEFAULT, "divvy_control"), &us), 0);
    EXPECT_EQ(where.dli_fbase, us.dli_fbase) << symbol << " came unwrapped";
  }
};

TEST_F(OddDriverTest, FirstLookUpOnly_SecondBuiltOnIt) {
  if (outsideWith("lookup1")) return;
  ASSERT_EQ(cu<Cu::cuInit>(0u), CUDA_SUCCESS);
  const Answer known = askV2("cuInit", 11040);
  EXPECT_EQ(known.result, CUDA_SUCCESS);
  EXPECT_EQ(known.status, kFound);
  expectOurs(known.address, "cuInit");
  const Answer unknown = askV2("cuLaunchKernel", 11040);
  EXPECT_EQ(unknown.result, CUDA_SUCCESS) << "the second version tells by its status";
  EXPECT_EQ(unknown.status, kUnknown);
  EXPECT_EQ(unknown.address, nullptr);
  EXPECT_EQ(askV1("cuLaunchKernel", 11040).result, CUDA_ERROR_NOT_FOUND);
}

TEST_F(OddDriverTest, SecondLookUpOnly_FirstBuiltOnIt) {
  if (outsideWith("lookup2")) return;
  ASSERT_EQ(cu<Cu::cuInit>(0u), CUDA_SUCCESS);
  const Answer known = askV1("cuInit", 11040);
  EXPECT_EQ(known.result, CUDA_SUCCESS);
  expectOurs(known.address, "cuInit");
  EXPECT_EQ(askV1("cuLaunchKernel", 11040).result, CUDA_ERROR_NOT_FOUND);
}

TEST_F(OddDriverTest, NoLookUp_AnswersFromList) {
  if (outsideWith("lookup0")) return;
  ASSERT_EQ(cu<Cu::cuInit>(0u), CUDA_SUCCESS);
  expectOurs(askV2("cuInit", 11040).address, "cuInit");
  expectOurs(askV1("cuInit", 11040).address, "cuInit");
  EXPECT_NE(askV2("cuDriverGetVersion", 11040).address, nullptr);
  EXPECT_EQ(askV2("cuLaunchKernel", 11040).address, nullptr);
  EXPECT_EQ(askV1("cuLaunchKernel", 11040).result, CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(askV2("cuMemGetInfo", 2000).address, nullptr) << "the driver has the second one only";
}

// I2: what the driver hands out need not be what it exports; then the list tells what it is.
TEST_F(OddDriverTest, FunctionNotExported_I2WrappedByList) {
  if (outsideWith("lookup2")) return;
  ASSERT_EQ(cu<Cu::cuInit>(0u), CUDA_SUCCESS);
  expectOurs(askV2("cuMemGetInfo", 12000).address, "cuMemGetInfo");
}

TEST_F(OddDriverTest, NameNewerThanList_PassedAndCounted) {
  if (outsideWith("lookup2")) return;
  ASSERT_EQ(cu<Cu::cuInit>(0u), CUDA_SUCCESS);
  auto* const future = reinterpret_cast<int (*)()>(askV2("cuOfTheFuture", 14000).address);
  ASSERT_NE(future, nullptr);
  EXPECT_EQ(future(), 4711);
  EXPECT_EQ(faults(22), 1u);
}

TEST_F(OddDriverTest, EntryMissingInDriver_NotFoundAndCounted) {
  if (outsideWith("lookup0")) return;
  ASSERT_EQ(cu<Cu::cuInit>(0u), CUDA_SUCCESS);
  CUdeviceptr block = 0;
  EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cu<Cu::cuStreamQuery>(nullptr), CUDA_ERROR_NOT_FOUND) << "not wrapped";
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{512}), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(charged(), 0u);
  EXPECT_GE(control().missing_calls, 3u);
}

// OptiX asks with a null pointer; a driver that does not take one still answers through us.
TEST_F(OddDriverTest, NullOutputsOfMemoryInfo_Success) {
  if (outsideWith("lookup0")) return;
  ASSERT_EQ(cu<Cu::cuInit>(0u), CUDA_SUCCESS);
  std::size_t bytes = 0;
  EXPECT_EQ(cu<Cu::cuMemGetInfo_v2>(static_cast<std::size_t*>(nullptr), &bytes), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemGetInfo_v2>(&bytes, static_cast<std::size_t*>(nullptr)), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemGetInfo_v2>(static_cast<std::size_t*>(nullptr),
                                    static_cast<std::size_t*>(nullptr)),
            CUDA_SUCCESS);
}

}  // namespace
}  // namespace divvy::interposer
