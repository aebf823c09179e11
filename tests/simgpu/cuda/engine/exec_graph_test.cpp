// Graphs built node by node: results, order, copies of graphs, changes of executable ones.
#include <mutex>

#include "exec_driver.h"

namespace divvy::simgpu {
namespace {

class Graph : public DriverTest {};

constexpr CUstream kNull = nullptr;
const CUgraphNode* const kNoNodes = nullptr;

CUgraph makeGraph() {
  CUgraph graph = nullptr;
  EXPECT_EQ(cu<Cu::cuGraphCreate>(&graph, 0U), CUDA_SUCCESS);
  return graph;
}
CUgraphExec instantiate(CUgraph graph, unsigned long long flags = 0) {
  CUgraphExec exec = nullptr;
  EXPECT_EQ(cu<Cu::cuGraphInstantiateWithFlags>(&exec, graph, flags), CUDA_SUCCESS);
  return exec;
}
void runOnce(CUgraphExec exec) {
  EXPECT_EQ(cu<Cu::cuGraphLaunch>(exec, kNull), CUDA_SUCCESS);
  EXPECT_EQ(sync(kNull), CUDA_SUCCESS);
}

// Parameters of an "add" kernel node; the values live as long as this.
struct AddParams {
  CUdeviceptr data;
  std::uint64_t count = 1;
  std::uint32_t value;
  void* pointers[3];
  CUDA_KERNEL_NODE_PARAMS node{};

  AddParams(CUdeviceptr d, std::uint32_t v) : data(d), value(v), pointers{&data, &count, &value} {
    node.func = builtin("add");
    node.gridDimX = node.gridDimY = node.gridDimZ = 1;
    node.blockDimX = 32;
    node.blockDimY = node.blockDimZ = 1;
    node.kernelParams = pointers;
  }
  CUgraphNode addTo(CUgraph graph, std::vector<CUgraphNode> after = {}) {
    CUgraphNode out = nullptr;
    const CUDA_KERNEL_NODE_PARAMS* params = &node;
    const CUgraphNode* deps = after.data();
    EXPECT_EQ(cu<Cu::cuGraphAddKernelNode_v2>(&out, graph, deps, after.size(), params),
              CUDA_SUCCESS);
    return out;
  }
};

CUDA_MEMSET_NODE_PARAMS setWords(CUdeviceptr at, unsigned value, std::size_t count = 1) {
  return {at, 0, value, 4, count, 1};
}

TEST_F(Graph, EachNodeKind_RunsInOrder) {
  runReady([] {
    CUcontext context = nullptr;
    EXPECT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
    const CUdeviceptr data = allocate(64);
    auto* result = pinned<std::uint32_t>(4);
    const CUgraph graph = makeGraph();
    CUgraphNode set = nullptr;
    CUgraphNode copy = nullptr;
    CUgraphNode host = nullptr;
    CUgraphNode empty = nullptr;
    CUgraphNode record = nullptr;
    CUgraphNode wait = nullptr;
    const CUDA_MEMSET_NODE_PARAMS fill = setWords(data, 7);
    EXPECT_EQ(cu<Cu::cuGraphAddMemsetNode>(&set, graph, kNoNodes, size_t{0}, &fill, context),
              CUDA_SUCCESS);
    AddParams add(data, 5);
    const CUgraphNode kernel = add.addTo(graph, {set});
    const CUgraphNode* after = &kernel;
    const CUevent event = makeEvent();
    EXPECT_EQ(cu<Cu::cuGraphAddEventRecordNode>(&record, graph, after, size_t{1}, event),
              CUDA_SUCCESS);
    after = &record;
    EXPECT_EQ(cu<Cu::cuGraphAddEmptyNode>(&empty, graph, after, size_t{1}), CUDA_SUCCESS);
    after = &empty;
    CUDA_MEMCPY3D box{};
    box.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    box.srcDevice = data;
    box.dstMemoryType = CU_MEMORYTYPE_HOST;
    box.dstHost = result;
    box.WidthInBytes = 4;
    box.Height = box.Depth = 1;
    const CUDA_MEMCPY3D* copy_params = &box;
    EXPECT_EQ(cu<Cu::cuGraphAddMemcpyNode>(&copy, graph, after, size_t{1}, copy_params, context),
              CUDA_SUCCESS);
    after = &copy;
    const CUevent outside = recordedIn(makeStream());
    EXPECT_EQ(cu<Cu::cuGraphAddEventWaitNode>(&wait, graph, after, size_t{1}, outside),
              CUDA_SUCCESS);
    const CUDA_HOST_NODE_PARAMS call{[](void* p) {
                                       auto* words = static_cast<std::uint32_t*>(p);
                                       words[1] = words[0] * 2;
                                     },
                                     result};
    after = &wait;
    EXPECT_EQ(cu<Cu::cuGraphAddHostNode>(&host, graph, after, size_t{1}, &call), CUDA_SUCCESS);
    runOnce(instantiate(graph));
    EXPECT_EQ(result[0], 12U);
    EXPECT_EQ(result[1], 24U);
    EXPECT_EQ(cu<Cu::cuEventQuery>(event), CUDA_SUCCESS);
    float ms = -1;
    EXPECT_EQ(cu<Cu::cuEventElapsedTime>(&ms, outside, event), CUDA_SUCCESS);
    EXPECT_GT(ms, 0.0F) << "the event was recorded by the graph";
  });
}

TEST_F(Graph, ParallelBranches_JoinWithAllEffects) {
  runReady([] {
    auto* flags = pinned<std::uint32_t>(2);
    const CUdeviceptr data = upload(std::vector<std::uint32_t>(4, 0));
    const CUgraph graph = makeGraph();
    std::vector<CUgraphNode> branches;
    std::vector<AddParams> params;
    params.reserve(7);
    for (unsigned i = 0; i < 6; ++i) {
      params.emplace_back(data, 1U << i);
      branches.push_back(params.back().addTo(graph));
    }
    params.emplace_back(data, 1000U);
    params.back().addTo(graph, branches);  // more dependencies than one operation can carry
    const CUgraphExec exec = instantiate(graph);
    runOnce(exec);
    runOnce(exec);
    EXPECT_EQ(download<std::uint32_t>(data, 1)[0], 2 * (63U + 1000U));
    EXPECT_EQ(flags[0], 0U);
  });
}

TEST_F(Graph, Launches_OrderedWithTheirStreams) {
  runReady([] {
    const CUdeviceptr data = upload(std::vector<std::uint32_t>{1});
    const CUgraph graph = makeGraph();
    AddParams add(data, 10);
    add.addTo(graph);
    const CUgraphExec exec = instantiate(graph);
    const CUstream a = makeStream();
    const CUstream b = makeStream();
    Gate gate(a);
    EXPECT_EQ(cu<Cu::cuGraphLaunch>(exec, a), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuGraphLaunch>(exec, b), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuStreamQuery>(b), CUDA_ERROR_NOT_READY)
        << "one executable graph runs once at a time";
    EXPECT_EQ(launch(builtin("copy"), b, data, data, std::uint64_t{4}), CUDA_SUCCESS);
    gate.open();
    EXPECT_EQ(sync(b), CUDA_SUCCESS);
    EXPECT_EQ(download<std::uint32_t>(data, 1)[0], 21U);
  });
}

TEST_F(Graph, ChildGraph_IsCopiedWhenAdded) {
  runReady([] {
    const CUdeviceptr data = upload(std::vector<std::uint32_t>{0});
    const CUgraph child = makeGraph();
    AddParams one(data, 1);
    one.addTo(child);
    const CUgraph parent = makeGraph();
    CUgraphNode node = nullptr;
    EXPECT_EQ(cu<Cu::cuGraphAddChildGraphNode>(&node, parent, kNoNodes, size_t{0}, child),
              CUDA_SUCCESS);
    AddParams late(data, 100);
    late.addTo(child);
    AddParams after(data, 10);
    after.addTo(parent, {node});
    runOnce(instantiate(parent));
    EXPECT_EQ(download<std::uint32_t>(data, 1)[0], 11U) << "the child was copied when it was added";
    CUgraph embedded = nullptr;
    EXPECT_EQ(cu<Cu::cuGraphChildGraphNodeGetGraph>(node, &embedded), CUDA_SUCCESS);
    EXPECT_NE(embedded, child);
    EXPECT_EQ(cu<Cu::cuGraphDestroy>(embedded), CUDA_ERROR_INVALID_VALUE) << "the node owns it";
  });
}

TEST_F(Graph, Clone_FindsTwinNode) {
  runReady([] {
    const CUdeviceptr data = upload(std::vector<std::uint32_t>{0});
    const CUgraph graph = makeGraph();
    AddParams one(data, 1);
    const CUgraphNode original = one.addTo(graph);
    CUgraph clone = nullptr;
    EXPECT_EQ(cu<Cu::cuGraphClone>(&clone, graph), CUDA_SUCCESS);
    CUgraphNode twin = nullptr;
    EXPECT_EQ(cu<Cu::cuGraphNodeFindInClone>(&twin, original, clone), CUDA_SUCCESS);
    EXPECT_NE(twin, original);
    AddParams nine(data, 9);
    const CUDA_KERNEL_NODE_PARAMS* changed = &nine.node;
    EXPECT_EQ(cu<Cu::cuGraphKernelNodeSetParams_v2>(twin, changed), CUDA_SUCCESS);
    runOnce(instantiate(clone));
    runOnce(instantiate(graph));
    EXPECT_EQ(download<std::uint32_t>(data, 1)[0], 10U);
    EXPECT_EQ(cu<Cu::cuGraphDestroy>(clone), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuGraphDestroy>(clone), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(Graph, ExecNodeChanged_GraphUnchanged) {
  runReady([] {
    const CUdeviceptr data = upload(std::vector<std::uint32_t>{0});
    const CUgraph graph = makeGraph();
    AddParams one(data, 1);
    const CUgraphNode node = one.addTo(graph);
    const CUgraphExec exec = instantiate(graph);
    AddParams five(data, 5);
    const CUDA_KERNEL_NODE_PARAMS* changed = &five.node;
    EXPECT_EQ(cu<Cu::cuGraphExecKernelNodeSetParams_v2>(exec, node, changed), CUDA_SUCCESS);
    runOnce(exec);
    EXPECT_EQ(download<std::uint32_t>(data, 1)[0], 5U);
    EXPECT_EQ(cu<Cu::cuGraphNodeSetEnabled>(exec, node, 0U), CUDA_SUCCESS);
    runOnce(exec);
    EXPECT_EQ(download<std::uint32_t>(data, 1)[0], 5U) << "disabled";
    unsigned enabled = 1;
    EXPECT_EQ(cu<Cu::cuGraphNodeGetEnabled>(exec, node, &enabled), CUDA_SUCCESS);
    EXPECT_EQ(enabled, 0U);
    CUDA_KERNEL_NODE_PARAMS seen{};
    EXPECT_EQ(cu<Cu::cuGraphKernelNodeGetParams_v2>(node, &seen), CUDA_SUCCESS);
    EXPECT_EQ(*static_cast<std::uint32_t*>(seen.kernelParams[2]), 1U)
        << "the graph it was made from is unchanged";
  });
}

TEST_F(Graph, Update_NeedsSameShape) {
  runReady([] {
    CUcontext context = nullptr;
    EXPECT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
    const CUdeviceptr data = upload(std::vector<std::uint32_t>{0});
    AddParams one(data, 1);
    AddParams two(data, 2);
    const CUgraph graph = makeGraph();
    one.addTo(graph, {one.addTo(graph)});
    const CUgraphExec exec = instantiate(graph);
    const CUgraph same = makeGraph();
    two.addTo(same, {two.addTo(same)});
    CUgraphExecUpdateResultInfo info{};
    EXPECT_EQ(cu<Cu::cuGraphExecUpdate_v2>(exec, same, &info), CUDA_SUCCESS);
    EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    runOnce(exec);
    EXPECT_EQ(download<std::uint32_t>(data, 1)[0], 4U);

    const CUgraph unconnected = makeGraph();
    two.addTo(unconnected);
    two.addTo(unconnected);
    EXPECT_EQ(cu<Cu::cuGraphExecUpdate_v2>(exec, unconnected, &info),
              CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);

    const CUgraph other_kind = makeGraph();
    const CUgraphNode first = two.addTo(other_kind);
    const CUgraphNode* after = &first;
    CUgraphNode set = nullptr;
    const CUDA_MEMSET_NODE_PARAMS fill = setWords(data, 0);
    EXPECT_EQ(cu<Cu::cuGraphAddMemsetNode>(&set, other_kind, after, size_t{1}, &fill, context),
              CUDA_SUCCESS);
    CUgraphNode bad = nullptr;
    CUgraphExecUpdateResult why{};
    EXPECT_EQ(cu<Cu::cuGraphExecUpdate>(exec, other_kind, &bad, &why),
              CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    EXPECT_EQ(why, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
    EXPECT_EQ(bad, set);
    runOnce(exec);
    EXPECT_EQ(download<std::uint32_t>(data, 1)[0], 8U) << "a failed update changes nothing";
  });
}

TEST_F(Graph, Cycle_InstantiationIsRefused) {
  runReady([] {
    const CUdeviceptr data = allocate(4);
    AddParams one(data, 1);
    const CUgraph graph = makeGraph();
    const CUgraphNode a = one.addTo(graph);
    const CUgraphNode b = one.addTo(graph, {a});
    const CUgraphNode* from = &b;
    const CUgraphNode* to = &a;
    EXPECT_EQ(cu<Cu::cuGraphAddDependencies>(graph, from, to, size_t{1}), CUDA_SUCCESS);
    CUgraphExec exec = nullptr;
    EXPECT_EQ(cu<Cu::cuGraphInstantiateWithFlags>(&exec, graph, 0ULL), CUDA_ERROR_INVALID_VALUE);
    CUDA_GRAPH_INSTANTIATE_PARAMS params{};
    EXPECT_EQ(cu<Cu::cuGraphInstantiateWithParams>(&exec, graph, &params),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    EXPECT_NE(params.hErrNode_out, nullptr);
    EXPECT_EQ(cu<Cu::cuGraphRemoveDependencies>(graph, from, to, size_t{1}), CUDA_SUCCESS);
    instantiate(graph);
  });
}

TEST_F(Graph, MemoryNodes_ChargedByLaunch) {
  runReady([] {
    constexpr std::uint64_t kBytes = 8 * kMiB;
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    params.bytesize = kBytes;
    const CUgraph graph = makeGraph();
    CUgraphNode alloc = nullptr;
    EXPECT_EQ(cu<Cu::cuGraphAddMemAllocNode>(&alloc, graph, kNoNodes, size_t{0}, &params),
              CUDA_SUCCESS);
    ASSERT_NE(params.dptr, 0U);
    AddParams add(params.dptr, 1);
    add.count = kBytes / 4;
    add.addTo(graph, {alloc});
    const CUgraphExec exec = instantiate(graph);
    CUgraphExec second = nullptr;
    EXPECT_EQ(cu<Cu::cuGraphInstantiateWithFlags>(&second, graph, 0ULL), CUDA_ERROR_NOT_SUPPORTED)
        << "its addresses serve one run at a time";
    EXPECT_EQ(booked(Charge::kGraph), 0U);
    runOnce(exec);
    EXPECT_EQ(booked(Charge::kGraph), kBytes);
    EXPECT_EQ(cu<Cu::cuGraphLaunch>(exec, kNull), CUDA_ERROR_INVALID_VALUE)
        << "what the last run allocated was not freed";
    EXPECT_EQ(cu<Cu::cuMemFreeAsync>(params.dptr, kNull), CUDA_SUCCESS);
    EXPECT_EQ(sync(kNull), CUDA_SUCCESS);
    runOnce(exec);
    EXPECT_EQ(booked(Charge::kGraph), kBytes);
    EXPECT_EQ(cu<Cu::cuGraphExecDestroy>(exec), CUDA_SUCCESS);
    const CUgraphExec again = instantiate(graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
    runOnce(again);
    runOnce(again);
    CUgraph clone = nullptr;
    EXPECT_EQ(cu<Cu::cuGraphClone>(&clone, graph), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(cu<Cu::cuGraphDestroyNode>(alloc), CUDA_ERROR_NOT_SUPPORTED);
  });
}

TEST_F(Graph, DestroyedWhilePending_RunCompletes) {
  runReady([] {
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    params.bytesize = 4096;
    const CUgraph graph = makeGraph();
    CUgraphNode alloc = nullptr;
    EXPECT_EQ(cu<Cu::cuGraphAddMemAllocNode>(&alloc, graph, kNoNodes, size_t{0}, &params),
              CUDA_SUCCESS);
    AddParams add(params.dptr, 1);
    const CUgraphNode used = add.addTo(graph, {alloc});
    CUgraphNode freed = nullptr;
    const CUgraphNode* after = &used;
    EXPECT_EQ(cu<Cu::cuGraphAddMemFreeNode>(&freed, graph, after, size_t{1}, params.dptr),
              CUDA_SUCCESS);
    int destroyed = 0;
    CUuserObject object = nullptr;
    EXPECT_EQ(cu<Cu::cuUserObjectCreate>(
                  &object, static_cast<void*>(&destroyed),
                  static_cast<CUhostFn>([](void* p) { ++*static_cast<int*>(p); }), 1U, 1U),
              CUDA_SUCCESS);
    EXPECT_EQ(
        cu<Cu::cuGraphRetainUserObject>(graph, object, 1U, unsigned{CU_GRAPH_USER_OBJECT_MOVE}),
        CUDA_SUCCESS);
    const CUgraphExec exec = instantiate(graph);
    Gate gate(kNull);
    EXPECT_EQ(cu<Cu::cuGraphLaunch>(exec, kNull), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuGraphExecDestroy>(exec), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuGraphDestroy>(graph), CUDA_SUCCESS);
    EXPECT_EQ(destroyed, 0) << "the run still needs it";
    gate.open();
    EXPECT_EQ(sync(kNull), CUDA_SUCCESS);
    EXPECT_TRUE(eventually([&] { return std::atomic_ref(destroyed).load() == 1; }));
  });
}

TEST_F(Graph, CardFull_LaunchIsOutOfMemory) {
  runReady([] {
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    params.bytesize = freeBytes() + kGiB;
    const CUgraph graph = makeGraph();
    CUgraphNode alloc = nullptr;
    EXPECT_EQ(cu<Cu::cuGraphAddMemAllocNode>(&alloc, graph, kNoNodes, size_t{0}, &params),
              CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuGraphLaunch>(instantiate(graph), kNull), CUDA_ERROR_OUT_OF_MEMORY);
  });
}

TEST_F(Graph, GenericNodes_EqualTypedOnes) {
  runReady([] {
    const CUdeviceptr data = upload(std::vector<std::uint32_t>{3});
    AddParams add(data, 4);
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_KERNEL;
    params.kernel = add.node;
    const CUgraph graph = makeGraph();
    CUgraphNode node = nullptr;
    EXPECT_EQ(
        cu<Cu::cuGraphAddNode_v2>(&node, graph, kNoNodes,
                                  static_cast<const CUgraphEdgeData*>(nullptr), size_t{0}, &params),
        CUDA_SUCCESS);
    CUgraphNodeType type{};
    EXPECT_EQ(cu<Cu::cuGraphNodeGetType>(node, &type), CUDA_SUCCESS);
    EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);
    const CUgraphExec exec = instantiate(graph);
    add.value = 40;
    EXPECT_EQ(cu<Cu::cuGraphExecNodeSetParams>(exec, node, &params), CUDA_SUCCESS);
    runOnce(exec);
    EXPECT_EQ(download<std::uint32_t>(data, 1)[0], 43U);
    params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    EXPECT_EQ(cu<Cu::cuGraphAddNode>(&node, graph, kNoNodes, size_t{0}, &params),
              CUDA_ERROR_NOT_SUPPORTED);
  });
}

TEST_F(Graph, UserObject_LivesUntilLastGraph) {
  runReady([] {
    int destroyed = 0;
    CUuserObject object = nullptr;
    EXPECT_EQ(cu<Cu::cuUserObjectCreate>(
                  &object, static_cast<void*>(&destroyed),
                  static_cast<CUhostFn>([](void* p) { ++*static_cast<int*>(p); }), 1U, 1U),
              CUDA_SUCCESS);
    const CUgraph graph = makeGraph();
    EXPECT_EQ(
        cu<Cu::cuGraphRetainUserObject>(graph, object, 1U, unsigned{CU_GRAPH_USER_OBJECT_MOVE}),
        CUDA_SUCCESS);
    const CUgraphExec exec = instantiate(graph);
    EXPECT_EQ(cu<Cu::cuGraphDestroy>(graph), CUDA_SUCCESS);
    EXPECT_EQ(destroyed, 0) << "the executable graph still holds it";
    EXPECT_EQ(cu<Cu::cuGraphExecDestroy>(exec), CUDA_SUCCESS);
    EXPECT_TRUE(eventually([&] { return std::atomic_ref(destroyed).load() == 1; }));
  });
}

TEST_F(Graph, UserObjectDestructor_MayWaitForLock) {
  runReady([] {
    struct Shared {
      std::mutex mutex;
      std::atomic<CUresult> answer{CUDA_ERROR_UNKNOWN};
    } shared;
    const CUhostFn destroy = [](void* p) {
      Shared& in = *static_cast<Shared*>(p);
      const std::lock_guard guard(in.mutex);
      CUdeviceptr memory = 0;
      in.answer = cu<Cu::cuMemAlloc_v2>(&memory, size_t{64});
    };
    CUuserObject object = nullptr;
    EXPECT_EQ(cu<Cu::cuUserObjectCreate>(&object, static_cast<void*>(&shared), destroy, 1U, 1U),
              CUDA_SUCCESS);
    {
      const std::lock_guard guard(shared.mutex);
      EXPECT_EQ(cu<Cu::cuUserObjectRelease>(object, 1U), CUDA_SUCCESS);
      EXPECT_EQ(sync(kNull), CUDA_SUCCESS);
    }
    EXPECT_TRUE(eventually([&] { return shared.answer == CUDA_ERROR_NOT_PERMITTED; }));
  });
}

TEST_F(Graph, FiveThousandNodes_AllRun) {
  runReady([] {
    const CUdeviceptr data = upload(std::vector<std::uint32_t>{0});
    const CUgraph graph = makeGraph();
    AddParams one(data, 1);
    std::vector<CUgraphNode> last;
    for (int i = 0; i < 5000; ++i) last = {one.addTo(graph, last)};
    runOnce(instantiate(graph));
    EXPECT_EQ(download<std::uint32_t>(data, 1)[0], 5000U);
  });
}

}  // namespace
}  // namespace divvy::simgpu
