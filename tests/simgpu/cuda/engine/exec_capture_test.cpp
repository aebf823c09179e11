// Stream capture: what is recorded, what is forbidden meanwhile, and what a violation does.
#include "exec_driver.h"

namespace divvy::simgpu {
namespace {

class Capture : public DriverTest {};

constexpr CUstream kNull = nullptr;

void begin(CUstream s, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
  ASSERT_EQ(cu<Cu::cuStreamBeginCapture_v2>(s, mode), CUDA_SUCCESS);
}
CUresult end(CUstream s, CUgraph* graph = nullptr) {
  CUgraph unused = nullptr;
  return cu<Cu::cuStreamEndCapture>(s, graph != nullptr ? graph : &unused);
}
CUstreamCaptureStatus statusOf(CUstream s) {
  CUstreamCaptureStatus status{};
  EXPECT_EQ(cu<Cu::cuStreamIsCapturing>(s, &status), CUDA_SUCCESS);
  return status;
}
std::size_t nodeCount(CUgraph graph) {
  std::size_t count = 0;
  EXPECT_EQ(cu<Cu::cuGraphGetNodes>(graph, static_cast<CUgraphNode*>(nullptr), &count),
            CUDA_SUCCESS);
  return count;
}

TEST_F(Capture, CapturedWork_RecordedNotRun) {
  runReady([] {
    const CUdeviceptr data = upload(std::vector<std::uint32_t>(4, 1));
    const CUfunction add = builtin("add");
    const CUstream s = makeStream();
    begin(s);
    EXPECT_EQ(statusOf(s), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    EXPECT_EQ(launch(add, s, data, std::uint64_t{4}, 10U), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemsetD32Async>(data, 5U, size_t{1}, s), CUDA_SUCCESS);
    CUgraph graph = nullptr;
    EXPECT_EQ(end(s, &graph), CUDA_SUCCESS);
    EXPECT_EQ(statusOf(s), CU_STREAM_CAPTURE_STATUS_NONE);
    EXPECT_EQ(nodeCount(graph), 2U);
    EXPECT_EQ(download<std::uint32_t>(data, 4), (std::vector<std::uint32_t>{1, 1, 1, 1}));
    CUgraphExec exec = nullptr;
    ASSERT_EQ(cu<Cu::cuGraphInstantiateWithFlags>(&exec, graph, 0ULL), CUDA_SUCCESS);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(cu<Cu::cuGraphLaunch>(exec, s), CUDA_SUCCESS);
    EXPECT_EQ(sync(s), CUDA_SUCCESS);
    EXPECT_EQ(download<std::uint32_t>(data, 4), (std::vector<std::uint32_t>{5, 31, 31, 31}));
    EXPECT_EQ(cu<Cu::cuGraphExecDestroy>(exec), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuGraphDestroy>(graph), CUDA_SUCCESS);
  });
}

TEST_F(Capture, ForkAndJoin_RecordsDiamond) {
  runReady([] {
    spin(kNull, 1);  // loads the kernel, which a capture forbids
    const CUstream a = makeStream();
    const CUstream b = makeStream();
    const CUevent fork = makeEvent();
    const CUevent join = makeEvent();
    begin(a);
    EXPECT_EQ(spin(a, 1000), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuEventRecord>(fork, a), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuStreamWaitEvent>(b, fork, 0U), CUDA_SUCCESS);
    EXPECT_EQ(statusOf(b), CU_STREAM_CAPTURE_STATUS_ACTIVE) << "b is captured from here on";
    EXPECT_EQ(spin(a, 1000), CUDA_SUCCESS);
    EXPECT_EQ(spin(b, 1000), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuEventRecord>(join, b), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuStreamWaitEvent>(a, join, 0U), CUDA_SUCCESS);
    EXPECT_EQ(spin(a, 1000), CUDA_SUCCESS);
    CUgraph graph = nullptr;
    EXPECT_EQ(end(a, &graph), CUDA_SUCCESS);
    EXPECT_EQ(statusOf(b), CU_STREAM_CAPTURE_STATUS_NONE);
    EXPECT_EQ(nodeCount(graph), 4U);
    std::size_t edges = 0;
    EXPECT_EQ(cu<Cu::cuGraphGetEdges>(graph, static_cast<CUgraphNode*>(nullptr),
                                      static_cast<CUgraphNode*>(nullptr), &edges),
              CUDA_SUCCESS);
    EXPECT_EQ(edges, 4U) << "a diamond";
  });
}

// A call made on or around a capturing stream, what it answers, and whether the capture survives.
struct Rule {
  const char* what;
  CUresult expected;
  bool survives;
  std::function<CUresult(CUstream capturing, CUstream other)> call;
};

const Rule kRules[] = {
    {"synchronise the capturing stream", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false,
     [](CUstream c, CUstream) { return cu<Cu::cuStreamSynchronize>(c); }},
    {"query the capturing stream", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false,
     [](CUstream c, CUstream) { return cu<Cu::cuStreamQuery>(c); }},
    {"synchronise the context", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false,
     [](CUstream, CUstream) { return cu<Cu::cuCtxSynchronize>(); }},
    {"allocate memory", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false,
     [](CUstream, CUstream) {
       CUdeviceptr p = 0;
       return cu<Cu::cuMemAlloc_v2>(&p, size_t{64});
     }},
    {"add a callback", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false,
     [](CUstream c, CUstream) {
       return cu<Cu::cuStreamAddCallback>(
           c, static_cast<CUstreamCallback>([](CUstream, CUresult, void*) {}),
           static_cast<void*>(nullptr), 0U);
     }},
    {"record an event of the context", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false,
     [](CUstream, CUstream) { return cu<Cu::cuCtxRecordEvent>(CUcontext{nullptr}, makeEvent()); }},
    {"wait for an event of outside", CUDA_ERROR_STREAM_CAPTURE_ISOLATION, false,
     [](CUstream c, CUstream other) {
       return cu<Cu::cuStreamWaitEvent>(c, recordedIn(other), 0U);
     }},
    {"query a captured event", CUDA_ERROR_CAPTURED_EVENT, false,
     [](CUstream c, CUstream) { return cu<Cu::cuEventQuery>(recordedIn(c)); }},
    {"synchronise on a captured event", CUDA_ERROR_CAPTURED_EVENT, false,
     [](CUstream c, CUstream) { return cu<Cu::cuEventSynchronize>(recordedIn(c)); }},
    {"begin again", CUDA_ERROR_ILLEGAL_STATE, true,
     [](CUstream c, CUstream) {
       return cu<Cu::cuStreamBeginCapture_v2>(c, CU_STREAM_CAPTURE_MODE_GLOBAL);
     }},
    {"end on a stream that is not capturing", CUDA_ERROR_ILLEGAL_STATE, true,
     [](CUstream, CUstream other) { return end(other); }},
    {"end in another thread", CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, true,
     [](CUstream c, CUstream) {
       CUresult result = CUDA_SUCCESS;
       inOtherThread([&] { result = end(c); });
       return result;
     }},
    {"launch into another stream", CUDA_SUCCESS, true,
     [](CUstream, CUstream other) { return spin(other, 100); }},
    {"record an event in another stream", CUDA_SUCCESS, true,
     [](CUstream, CUstream other) { return cu<Cu::cuEventRecord>(makeEvent(), other); }},
    {"external wait and record", CUDA_SUCCESS, true,
     [](CUstream c, CUstream other) {
       const CUevent event = recordedIn(other);
       const CUresult waited = cu<Cu::cuStreamWaitEvent>(c, event, 1U);
       return waited != CUDA_SUCCESS ? waited : cu<Cu::cuEventRecordWithFlags>(event, c, 1U);
     }},
};

TEST_F(Capture, EachRule_ResultAndCaptureState) {
  runReady([] {
    spin(kNull, 1);  // loads what the rules use before anything captures
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
    for (const Rule& rule : kRules) {
      const CUstream c = makeStream();
      const CUstream other = makeStream();
      begin(c);
      EXPECT_EQ(spin(c, 1), CUDA_SUCCESS);
      EXPECT_EQ(rule.call(c, other), rule.expected) << rule.what;
      EXPECT_EQ(statusOf(c) == CU_STREAM_CAPTURE_STATUS_ACTIVE, rule.survives) << rule.what;
      if (!rule.survives) {
        EXPECT_EQ(spin(c, 1), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) << rule.what;
      }
      CUgraph graph = nullptr;
      EXPECT_EQ(end(c, &graph),
                rule.survives ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
          << rule.what;
      EXPECT_EQ(graph != nullptr, rule.survives) << rule.what;
      EXPECT_EQ(statusOf(c), CU_STREAM_CAPTURE_STATUS_NONE) << rule.what;
      EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS) << rule.what;
    }
  });
}

// Which unsafe calls of which thread a capture forbids: by its mode, and by the thread's own.
TEST_F(Capture, CaptureModes_ForbidUnsafeCalls) {
  runReady([] {
    constexpr auto kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;
    constexpr auto kLocal = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    constexpr auto kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
    struct Case {
      CUstreamCaptureMode capture;
      CUstreamCaptureMode thread;
      bool same_thread;
      bool forbidden;
    };
    const Case cases[] = {
        {kGlobal, kGlobal, true, true},   {kGlobal, kLocal, true, true},
        {kGlobal, kRelaxed, true, false}, {kGlobal, kGlobal, false, true},
        {kGlobal, kLocal, false, false},  {kGlobal, kRelaxed, false, false},
        {kLocal, kGlobal, true, true},    {kLocal, kLocal, true, true},
        {kLocal, kRelaxed, true, false},  {kLocal, kGlobal, false, false},
        {kLocal, kLocal, false, false},   {kRelaxed, kGlobal, true, false},
        {kRelaxed, kLocal, true, false},  {kRelaxed, kGlobal, false, false},
    };
    for (const Case& c : cases) {
      const CUstream s = makeStream();
      const CUevent event = recordedIn(makeStream());
      begin(s, c.capture);
      const auto call = [&] {
        CUstreamCaptureMode mode = c.thread;
        EXPECT_EQ(cu<Cu::cuThreadExchangeStreamCaptureMode>(&mode), CUDA_SUCCESS);
        EXPECT_EQ(mode, kGlobal) << "what a thread starts with";
        CUdeviceptr p = 0;
        const CUresult allocated = cu<Cu::cuMemAlloc_v2>(&p, size_t{64});
        const CUresult queried = cu<Cu::cuEventQuery>(event);
        if (c.forbidden) {
          EXPECT_EQ(allocated, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
          EXPECT_EQ(queried, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        } else {
          EXPECT_EQ(allocated, CUDA_SUCCESS);
          EXPECT_TRUE(queried == CUDA_SUCCESS || queried == CUDA_ERROR_NOT_READY);
        }
        EXPECT_EQ(cu<Cu::cuThreadExchangeStreamCaptureMode>(&mode), CUDA_SUCCESS);
        EXPECT_EQ(mode, c.thread);
      };
      if (c.same_thread) {
        call();
      } else {
        inOtherThread(call);
      }
      EXPECT_EQ(end(s), c.forbidden ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS)
          << "capture " << c.capture << ", thread " << c.thread << ", same " << c.same_thread;
    }
  });
}

TEST_F(Capture, RelaxedCapture_EndsInOtherThread) {
  runReady([] {
    const CUstream s = makeStream();
    begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
    inOtherThread([&] { EXPECT_EQ(end(s), CUDA_SUCCESS); });
  });
}

TEST_F(Capture, LegacyStream_InvalidatesBlockingCapture) {
  runReady([] {
    spin(kNull, 1);
    EXPECT_EQ(cu<Cu::cuStreamBeginCapture_v2>(kNull, CU_STREAM_CAPTURE_MODE_GLOBAL),
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        << "the legacy stream cannot be captured";
    const CUdeviceptr data = allocate(64);
    std::uint32_t host = 0;
    const std::function<CUresult()> calls[] = {
        [] { return spin(kNull, 1); },
        [&] { return cu<Cu::cuMemsetD32_v2>(data, 1U, size_t{1}); },
        [&] { return cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(&host), data, size_t{4}); },
        [] { return cu<Cu::cuStreamQuery>(kNull); },
        [] { return cu<Cu::cuEventRecord>(makeEvent(), kNull); },
    };
    for (const auto& call : calls) {
      const CUstream blocking = makeStream(CU_STREAM_DEFAULT);
      begin(blocking);
      auto status = CU_STREAM_CAPTURE_STATUS_NONE;
      EXPECT_EQ(cu<Cu::cuStreamIsCapturing>(kNull, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
      EXPECT_EQ(statusOf(blocking), CU_STREAM_CAPTURE_STATUS_ACTIVE) << "asking is harmless";
      EXPECT_EQ(call(), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
      EXPECT_EQ(end(blocking), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
    const CUstream independent = makeStream(CU_STREAM_NON_BLOCKING);
    begin(independent);
    EXPECT_EQ(spin(kNull, 1), CUDA_SUCCESS) << "non-blocking streams do not concern it";
    EXPECT_EQ(end(independent), CUDA_SUCCESS);
  });
}

TEST_F(Capture, TwoCaptures_CannotMerge) {
  runReady([] {
    const CUstream a = makeStream();
    const CUstream b = makeStream();
    begin(a);
    begin(b);
    EXPECT_EQ(cu<Cu::cuStreamWaitEvent>(b, recordedIn(a), 0U), CUDA_ERROR_STREAM_CAPTURE_MERGE);
    EXPECT_EQ(end(a), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(end(b), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  });
}

TEST_F(Capture, UnjoinedForkOrForeignEnd_IsRefused) {
  runReady([] {
    spin(kNull, 1);
    const CUstream a = makeStream();
    const CUstream b = makeStream();
    begin(a);
    EXPECT_EQ(cu<Cu::cuStreamWaitEvent>(b, recordedIn(a), 0U), CUDA_SUCCESS);
    EXPECT_EQ(spin(b, 1), CUDA_SUCCESS);
    CUgraph graph = nullptr;
    EXPECT_EQ(end(a, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(statusOf(b), CU_STREAM_CAPTURE_STATUS_NONE);
    begin(a);
    EXPECT_EQ(cu<Cu::cuStreamWaitEvent>(b, recordedIn(a), 0U), CUDA_SUCCESS);
    EXPECT_EQ(end(b), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    EXPECT_EQ(end(a), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  });
}

TEST_F(Capture, EventOfEndedCapture_RefusedUntilRecorded) {
  runReady([] {
    const CUstream s = makeStream();
    begin(s);
    const CUevent event = recordedIn(s);
    EXPECT_EQ(end(s), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuEventQuery>(event), CUDA_ERROR_CAPTURED_EVENT);
    EXPECT_EQ(cu<Cu::cuStreamWaitEvent>(s, event, 0U), CUDA_ERROR_CAPTURED_EVENT);
    EXPECT_EQ(cu<Cu::cuEventRecord>(event, s), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuEventSynchronize>(event), CUDA_SUCCESS);
  });
}

TEST_F(Capture, CaptureInfo_IdGraphAndDependencies) {
  runReady([] {
    spin(kNull, 1);
    const CUstream s = makeStream();
    CUstreamCaptureStatus status{};
    cuuint64_t id = 0;
    CUgraph graph = nullptr;
    const CUgraphNode* nodes = nullptr;
    std::size_t count = 9;
    begin(s);
    EXPECT_EQ(spin(s, 1), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuStreamGetCaptureInfo_v2>(s, &status, &id, &graph, &nodes, &count),
              CUDA_SUCCESS);
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    EXPECT_NE(id, 0U);
    ASSERT_EQ(count, 1U);
    CUgraphNode extra = nullptr;
    EXPECT_EQ(cu<Cu::cuGraphAddEmptyNode>(&extra, graph, nodes, count), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuStreamUpdateCaptureDependencies>(
                  s, &extra, size_t{1}, unsigned{CU_STREAM_SET_CAPTURE_DEPENDENCIES}),
              CUDA_SUCCESS);
    EXPECT_EQ(spin(s, 1), CUDA_SUCCESS);
    CUgraph ended = nullptr;
    EXPECT_EQ(end(s, &ended), CUDA_SUCCESS);
    EXPECT_EQ(ended, graph);
    EXPECT_EQ(nodeCount(ended), 3U);
    std::size_t dependents = 0;
    EXPECT_EQ(cu<Cu::cuGraphNodeGetDependentNodes>(extra, static_cast<CUgraphNode*>(nullptr),
                                                   &dependents),
              CUDA_SUCCESS);
    EXPECT_EQ(dependents, 1U);
  });
}

TEST_F(Capture, CaptureToExistingGraph_Appends) {
  runReady([] {
    spin(kNull, 1);
    CUgraph graph = nullptr;
    CUgraphNode first = nullptr;
    EXPECT_EQ(cu<Cu::cuGraphCreate>(&graph, 0U), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuGraphAddEmptyNode>(&first, graph, static_cast<const CUgraphNode*>(nullptr),
                                          size_t{0}),
              CUDA_SUCCESS);
    const CUstream s = makeStream();
    EXPECT_EQ(cu<Cu::cuStreamBeginCaptureToGraph>(s, graph, static_cast<const CUgraphNode*>(&first),
                                                  static_cast<const CUgraphEdgeData*>(nullptr),
                                                  size_t{1}, CU_STREAM_CAPTURE_MODE_GLOBAL),
              CUDA_SUCCESS);
    EXPECT_EQ(spin(s, 1), CUDA_SUCCESS);
    CUgraph ended = nullptr;
    EXPECT_EQ(end(s, &ended), CUDA_SUCCESS);
    EXPECT_EQ(ended, graph);
    EXPECT_EQ(nodeCount(graph), 2U);
    std::size_t roots = 0;
    EXPECT_EQ(cu<Cu::cuGraphGetRootNodes>(graph, static_cast<CUgraphNode*>(nullptr), &roots),
              CUDA_SUCCESS);
    EXPECT_EQ(roots, 1U);
  });
}

TEST_F(Capture, StreamOrderedMemory_BecomesNodes) {
  runReady([] {
    const CUstream s = makeStream();
    const CUfunction fill = builtin("fill");
    const CUdeviceptr sum = allocate(8);
    const CUfunction checksum = builtin("checksum");
    begin(s);
    CUdeviceptr p = 0;
    EXPECT_EQ(cu<Cu::cuMemAllocAsync>(&p, size_t{1024}, s), CUDA_SUCCESS);
    EXPECT_NE(p, 0U);
    EXPECT_EQ(launch(fill, s, p, std::uint64_t{256}, 3U), CUDA_SUCCESS);
    EXPECT_EQ(launch(checksum, s, sum, p, std::uint64_t{1024}), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemFreeAsync>(p, s), CUDA_SUCCESS);
    CUgraph graph = nullptr;
    EXPECT_EQ(end(s, &graph), CUDA_SUCCESS);
    EXPECT_EQ(nodeCount(graph), 4U);
    EXPECT_EQ(booked(Charge::kGraph), 0U) << "nothing runs yet";
    CUgraphExec exec = nullptr;
    ASSERT_EQ(cu<Cu::cuGraphInstantiateWithFlags>(&exec, graph, 0ULL), CUDA_SUCCESS);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(cu<Cu::cuGraphLaunch>(exec, s), CUDA_SUCCESS);
    EXPECT_EQ(sync(s), CUDA_SUCCESS);
    EXPECT_GE(booked(Charge::kGraph), 1024U);
    EXPECT_NE(download<std::uint64_t>(sum, 1)[0], 0U);
    std::uint32_t host = 0;
    EXPECT_EQ(cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(&host), p, size_t{4}),
              CUDA_ERROR_INVALID_VALUE)
        << "freed by the graph";
  });
}

TEST_F(Capture, GraphLaunch_CapturedAsChild) {
  runReady([] {
    const CUdeviceptr data = upload(std::vector<std::uint32_t>{0});
    const CUfunction add = builtin("add");
    const CUstream s = makeStream();
    CUgraph inner = nullptr;
    CUgraph outer = nullptr;
    CUgraphExec exec = nullptr;
    begin(s);
    EXPECT_EQ(launch(add, s, data, std::uint64_t{1}, 1U), CUDA_SUCCESS);
    EXPECT_EQ(end(s, &inner), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuGraphInstantiateWithFlags>(&exec, inner, 0ULL), CUDA_SUCCESS);
    begin(s);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(cu<Cu::cuGraphLaunch>(exec, s), CUDA_SUCCESS);
    EXPECT_EQ(end(s, &outer), CUDA_SUCCESS);
    EXPECT_EQ(nodeCount(outer), 3U);
    CUgraphExec outer_exec = nullptr;
    ASSERT_EQ(cu<Cu::cuGraphInstantiateWithFlags>(&outer_exec, outer, 0ULL), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuGraphLaunch>(outer_exec, s), CUDA_SUCCESS);
    EXPECT_EQ(sync(s), CUDA_SUCCESS);
    EXPECT_EQ(download<std::uint32_t>(data, 1)[0], 3U);
  });
}

TEST_F(Capture, CapturingStreamDestroyed_CaptureEnds) {
  runReady([] {
    const CUstream s = makeStream();
    begin(s);
    EXPECT_EQ(cu<Cu::cuStreamDestroy_v2>(s), CUDA_SUCCESS);
    CUdeviceptr p = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&p, size_t{64}), CUDA_SUCCESS) << "no capture is left";
  });
}

}  // namespace
}  // namespace divvy::simgpu
