// I4: every way of consuming device memory is accounted, to the byte that the card has booked.
#include "tenant_test.h"

namespace divvy::interposer {
namespace {

class AllocationTest : public TenantTest {};

TEST_F(AllocationTest, I4PlainMemoryIsChargedAsTheCardBooksIt) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  EXPECT_EXACT();
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{513}, std::size_t{100 * kMiB}}) {
    CUdeviceptr block = 0;
    ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&block, bytes), CUDA_SUCCESS);
    EXPECT_GE(charged(), before + bytes);
    EXPECT_EXACT();
    ASSERT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
    EXPECT_EQ(charged(), before);
    EXPECT_EXACT();
  }
}

TEST_F(AllocationTest, S5OutOfMemoryIsExactlyThat) {
  if (outside({.ceiling = kGiB})) return;
  makeReady();
  CUdeviceptr block = 0xdead;
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{2 * kGiB}), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(block, 0xdeadu);
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, ~std::size_t{0}), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(control().refusals, 2u);
  EXPECT_EXACT();
}

TEST_F(AllocationTest, MemoryInfoTellsTheShare) {
  if (outside({.ceiling = kGiB})) return;
  makeReady();
  std::size_t free_bytes = 0, total = 0;
  ASSERT_EQ(cu<Cu::cuMemGetInfo_v2>(&free_bytes, &total), CUDA_SUCCESS);
  EXPECT_EQ(total, kGiB);
  EXPECT_EQ(free_bytes, kGiB - charged());
  CUdeviceptr block = 0;
  ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&block, free_bytes), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemGetInfo_v2>(&free_bytes, &total), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes, 0u);
  EXPECT_EQ(total, kGiB);
}

}  // namespace
}  // namespace divvy::interposer
