// Parts of a card's SMs: groups of different sizes, and contexts of them.
#include "driver_process.h"

namespace divvy::simgpu {
namespace {

using Params = CU_DEV_SM_RESOURCE_GROUP_PARAMS;
constexpr unsigned kBackfill = CU_DEV_SM_RESOURCE_GROUP_BACKFILL;

class GreenContextTest : public DriverTest {
 protected:
  std::string profile() const override { return "h100"; }  // 132 SMs in steps of 8

  static CUdevResource whole() {
    CUdevResource all{};
    EXPECT_EQ(cu<Cu::cuDeviceGetDevResource>(0, &all, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
    return all;
  }
  static Params group(unsigned count, unsigned together, unsigned flags = 0) {
    Params params{};
    params.smCount = count;
    params.coscheduledSmCount = together;
    params.flags = flags;
    return params;
  }
  static CUresult split(CUdevResource* result, unsigned count, CUdevResource* rest,
                        Params* params) {
    const CUdevResource all = whole();
    const CUdevResource* input = &all;
    return cu<Cu::cuDevSmResourceSplit>(result, count, input, rest, 0U, params);
  }
  static CUresult splitOne(Params params) {
    CUdevResource result{};
    return split(&result, 1, nullptr, &params);
  }
};

TEST_F(GreenContextTest, SeveralGroups_TakenInOrder) {
  runReady([] {
    CUdevResource parts[3]{};
    CUdevResource rest{};
    Params params[] = {group(64, 0), group(10, 2), group(0, 4)};
    ASSERT_EQ(split(parts, 3, &rest, params), CUDA_SUCCESS);
    EXPECT_EQ(parts[0].sm.smCount, 64U);
    EXPECT_EQ(parts[1].sm.smCount, 10U);
    EXPECT_EQ(parts[2].sm.smCount, 56U) << "what is left in fours";
    EXPECT_EQ(params[2].smCount, 56U) << "discovered";
    EXPECT_EQ(rest.sm.smCount, 2U);
    EXPECT_EQ(parts[1].sm.smCoscheduledAlignment, 2U);
  });
}

TEST_F(GreenContextTest, Backfill_TakesAllLeavesNoRemainder) {
  runReady([] {
    CUdevResource parts[2]{};
    CUdevResource rest{};
    Params params[] = {group(8, 4), group(0, 2, kBackfill)};
    ASSERT_EQ(split(parts, 2, &rest, params), CUDA_SUCCESS);
    EXPECT_EQ(parts[1].sm.smCount, 124U);
    EXPECT_EQ(rest.type, CU_DEV_RESOURCE_TYPE_INVALID);
    EXPECT_EQ(splitOne(group(12, 8)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(splitOne(group(12, 8, kBackfill)), CUDA_SUCCESS);
  });
}

TEST_F(GreenContextTest, DiscoveryFindsNothing_EmptyResultRefused) {
  runReady([] {
    Params params[] = {group(132, 2), group(0, 0)};
    ASSERT_EQ(split(nullptr, 2, nullptr, params), CUDA_SUCCESS);
    EXPECT_EQ(params[1].smCount, 0U);
    CUdevResource parts[2]{};
    EXPECT_EQ(split(parts, 2, nullptr, params), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    EXPECT_EQ(splitOne(group(4, 0)), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION)
        << "less than the eight that belong together";
  });
}

TEST_F(GreenContextTest, ImpossibleGroups_AreRefused) {
  runReady([] {
    EXPECT_EQ(splitOne(group(7, 0)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(splitOne(group(134, 2)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(splitOne(group(64, 64)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(splitOne(group(8, 0, 128)), CUDA_ERROR_INVALID_VALUE);
    Params dirty = group(8, 0);
    dirty.reserved[3] = 1;
    EXPECT_EQ(splitOne(dirty), CUDA_ERROR_INVALID_VALUE);
    Params elsewhere = group(8, 0, CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_ID);
    EXPECT_EQ(splitOne(elsewhere), CUDA_SUCCESS);
    elsewhere.localityDomainId = CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_ID_ANY;
    EXPECT_EQ(splitOne(elsewhere), CUDA_SUCCESS);
    elsewhere.localityDomainId = 1;
    EXPECT_EQ(splitOne(elsewhere), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    CUdevResource no_sm{};
    CUdevResource result{};
    Params params = group(8, 0);
    const CUdevResource* input = &no_sm;
    EXPECT_EQ(cu<Cu::cuDevSmResourceSplit>(&result, 1U, input, static_cast<CUdevResource*>(nullptr),
                                           0U, &params),
              CUDA_ERROR_INVALID_RESOURCE_TYPE);
  });
}

TEST_F(GreenContextTest, Group_BecomesContext) {
  runReady([] {
    CUdevResource parts[2]{};
    Params params[] = {group(16, 0), group(32, 0)};
    ASSERT_EQ(split(parts, 2, nullptr, params), CUDA_SUCCESS);
    CUdevResourceDesc desc = nullptr;
    ASSERT_EQ(cu<Cu::cuDevResourceGenerateDesc>(&desc, &parts[1], 1U), CUDA_SUCCESS);
    CUgreenCtx green = nullptr;
    ASSERT_EQ(cu<Cu::cuGreenCtxCreate>(&green, desc, 0, unsigned{CU_GREEN_CTX_DEFAULT_STREAM}),
              CUDA_SUCCESS);
    CUdevResource got{};
    EXPECT_EQ(cu<Cu::cuGreenCtxGetDevResource>(green, &got, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
    EXPECT_EQ(got.sm.smCount, 32U);
    EXPECT_EQ(cu<Cu::cuGreenCtxDestroy>(green), CUDA_SUCCESS);
  });
}

TEST_F(GreenContextTest, PartOfDevice_SharesPrimaryOverhead) {
  run([] {
    ASSERT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS);
    CUdevResource whole{};
    ASSERT_EQ(cu<Cu::cuDeviceGetDevResource>(0, &whole, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
    EXPECT_EQ(whole.sm.smCount, 132U);
    CUdevResource part{};
    CUdevResource rest{};
    unsigned groups = 1;
    ASSERT_EQ(cu<Cu::cuDevSmResourceSplitByCount>(
                  &part, &groups, static_cast<const CUdevResource*>(&whole), &rest, 0U, 30U),
              CUDA_SUCCESS);
    EXPECT_EQ(part.sm.smCount, 32U) << "rounded up to groups of eight";
    EXPECT_EQ(rest.sm.smCount, 100U);
    CUdevResourceDesc desc = nullptr;
    ASSERT_EQ(cu<Cu::cuDevResourceGenerateDesc>(&desc, &part, 1U), CUDA_SUCCESS);
    CUgreenCtx green = nullptr;
    EXPECT_EQ(cu<Cu::cuGreenCtxCreate>(&green, desc, 0, 0U), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(cu<Cu::cuGreenCtxCreate>(&green, desc, 0, unsigned{CU_GREEN_CTX_DEFAULT_STREAM}),
              CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kContext), 520 * kMiB);
    CUcontext context = nullptr;
    ASSERT_EQ(cu<Cu::cuCtxFromGreenCtx>(&context, green), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuCtxSetCurrent>(context), CUDA_SUCCESS);
    CUdeviceptr p = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, kMiB), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuGreenCtxDestroy>(green), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kContext), 0U);
    EXPECT_EQ(booked(Charge::kPlain), 0U);
    EXPECT_EQ(cu<Cu::cuGreenCtxDestroy>(green), CUDA_ERROR_INVALID_HANDLE);
  });
}

}  // namespace
}  // namespace divvy::simgpu
