// I4, I5: graphs pass the gate, and their allocation nodes are charged when they take memory.
#include "tenant_test.h"

namespace divvy::interposer {
namespace {

class GraphTest : public TenantTest {
 protected:
  static CUDA_MEM_ALLOC_NODE_PARAMS wanting(std::size_t bytes) {
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    params.bytesize = bytes;
    return params;
  }

  // A graph that allocates and frees.
  static CUgraph makeGraph(std::size_t bytes) {
    CUgraph graph = nullptr;
    CUgraphNode allocation = nullptr, release = nullptr;
    CUDA_MEM_ALLOC_NODE_PARAMS params = wanting(bytes);
    EXPECT_EQ(cu<Cu::cuGraphCreate>(&graph, 0u), CUDA_SUCCESS);
    EXPECT_EQ(
        cu<Cu::cuGraphAddMemAllocNode>(&allocation, graph, static_cast<const CUgraphNode*>(nullptr),
                                       std::size_t{0}, &params),
        CUDA_SUCCESS);
    const CUgraphNode* const after = &allocation;
    EXPECT_EQ(cu<Cu::cuGraphAddMemFreeNode>(&release, graph, after, std::size_t{1}, params.dptr),
              CUDA_SUCCESS);
    return graph;
  }

  static CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(cu<Cu::cuGraphInstantiateWithFlags>(&exec, graph, 0ull), CUDA_SUCCESS);
    return exec;
  }

  static void launch(CUgraphExec exec) {
    ASSERT_EQ(cu<Cu::cuGraphLaunch>(exec, CUstream{}), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuStreamSynchronize>(CUstream{}), CUDA_SUCCESS);
  }
};

TEST_F(GraphTest, AllocationNode_I4ChargedFromLaunchToTrim) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  const CUgraph graph = makeGraph(100 * kMiB);
  const CUgraphExec exec = instantiate(graph);
  EXPECT_EXACT();
  launch(exec);
  EXPECT_EQ(charged(), before + 100 * kMiB) << "kept for the next launch";
  EXPECT_EXACT();
  for (int i = 0; i < 5; ++i) launch(exec);
  EXPECT_EQ(charged(), before + 100 * kMiB);
  EXPECT_EXACT();
  ASSERT_EQ(cu<Cu::cuGraphExecDestroy>(exec), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuGraphDestroy>(graph), CUDA_SUCCESS);
  EXPECT_EXACT();
  ASSERT_EQ(cu<Cu::cuDeviceGraphMemTrim>(0), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

TEST_F(GraphTest, UploadAndPerThreadLaunch_I4ChargeEqualsBooking) {
  if (outside()) return;
  makeReady();
  const CUgraphExec first = instantiate(makeGraph(10 * kMiB));
  const CUgraphExec second = instantiate(makeGraph(20 * kMiB));
  ASSERT_EQ(cu<Cu::cuGraphUpload>(first, CUstream{}), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuStreamSynchronize>(CUstream{}), CUDA_SUCCESS);
  EXPECT_EXACT();
  ASSERT_EQ(cu<Cu::cuGraphLaunch_ptsz>(second, CUstream{}), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
  EXPECT_EXACT();
}

TEST_F(GraphTest, CapturedAllocation_I4ChargedAtLaunch) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  CUstream stream = nullptr;
  CUdeviceptr block = 0;
  CUgraph graph = nullptr;
  ASSERT_EQ(cu<Cu::cuStreamCreate>(&stream, 1u), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuStreamBeginCapture_v2>(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemAllocAsync>(&block, std::size_t{50 * kMiB}, stream), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemFreeAsync>(block, stream), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuStreamEndCapture>(stream, &graph), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate(graph);
  EXPECT_EQ(charged(), before);
  launch(exec);
  EXPECT_EQ(charged(), before + 50 * kMiB);
  EXPECT_EXACT();
}

TEST_F(GraphTest, NodeByGeneralCall_I4ChargedAtLaunch) {
  if (isOldDriver()) GTEST_SKIP() << "SKIPPED: the call is younger than this driver";
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  params.alloc = wanting(30 * kMiB);
  ASSERT_EQ(cu<Cu::cuGraphCreate>(&graph, 0u), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuGraphAddNode>(&node, graph, static_cast<const CUgraphNode*>(nullptr),
                                   std::size_t{0}, &params),
            CUDA_SUCCESS);
  launch(instantiate(graph));
  EXPECT_EQ(charged(), before + 30 * kMiB);
  EXPECT_EXACT();
  // What a graph allocates and does not free is the program's to free.
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(params.alloc.dptr), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuDeviceGraphMemTrim>(0), CUDA_SUCCESS);
  EXPECT_EXACT();
}

TEST_F(GraphTest, GraphAboveShare_S5OutOfMemory) {
  if (outside({.ceiling = kGiB})) return;
  makeReady();
  const CUgraph graph = makeGraph(2 * kGiB);
  CUgraphExec exec = nullptr;
  const CUresult made = cu<Cu::cuGraphInstantiateWithFlags>(&exec, graph, 0ull);
  if (made == CUDA_SUCCESS) {
    EXPECT_EQ(cu<Cu::cuGraphLaunch>(exec, CUstream{}), CUDA_ERROR_OUT_OF_MEMORY);
  } else {
    EXPECT_EQ(made, CUDA_ERROR_OUT_OF_MEMORY);
  }
  EXPECT_EXACT();
  EXPECT_LE(booked(), kGiB);
}

// A graph that has its memory needs no more of it, however full the share is meanwhile.
TEST_F(GraphTest, RelaunchInFullShare_NoFurtherMemoryNeeded) {
  if (outside({.ceiling = kGiB})) return;
  makeReady();
  const CUgraphExec exec = instantiate(makeGraph(300 * kMiB));
  launch(exec);
  std::size_t free_bytes = 0, total = 0;
  CUdeviceptr block = 0;
  ASSERT_EQ(cu<Cu::cuMemGetInfo_v2>(&free_bytes, &total), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&block, free_bytes), CUDA_SUCCESS);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(cu<Cu::cuGraphLaunch>(exec, CUstream{}), CUDA_SUCCESS) << "in a row";
  }
  ASSERT_EQ(cu<Cu::cuStreamSynchronize>(CUstream{}), CUDA_SUCCESS);
  EXPECT_EXACT();
  EXPECT_LE(booked(), kGiB);
}

TEST_F(GraphTest, UnusedGraphMemory_TakenBackForOthers) {
  if (outside({.ceiling = kGiB})) return;
  makeReady();
  launch(instantiate(makeGraph(500 * kMiB)));
  CUdeviceptr block = 0;
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{500 * kMiB}), CUDA_SUCCESS);
  EXPECT_EXACT();
}

TEST_F(GraphTest, GraphWithoutAllocations_NotCharged) {
  if (outside()) return;
  makeReady();
  const std::uint64_t before = charged();
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  ASSERT_EQ(cu<Cu::cuGraphCreate>(&graph, 0u), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuGraphAddEmptyNode>(&node, graph, static_cast<const CUgraphNode*>(nullptr),
                                        std::size_t{0}),
            CUDA_SUCCESS);
  const std::uint64_t launches = control().launches;
  launch(instantiate(graph));
  EXPECT_EQ(control().launches, launches + 1) << "I5: it passes the gate";
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

}  // namespace
}  // namespace divvy::interposer
