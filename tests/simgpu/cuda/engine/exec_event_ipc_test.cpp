// Events that two processes record, ask after and wait for.
#include "exec_driver.h"
#include "vmm_driver.h"

namespace divvy::simgpu {
namespace {

constexpr CUstream kNull = nullptr;
constexpr unsigned kShared = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

class EventIpc : public DriverTest {
 protected:
  static CUipcEventHandle handleOf(CUevent event) {
    CUipcEventHandle handle{};
    EXPECT_EQ(cu<Cu::cuIpcGetEventHandle>(&handle, event), CUDA_SUCCESS);
    return handle;
  }
  static CUevent openEvent(CUipcEventHandle handle) {
    CUevent event = nullptr;
    EXPECT_EQ(cu<Cu::cuIpcOpenEventHandle>(&event, handle), CUDA_SUCCESS);
    return event;
  }
  static CUresult query(CUevent event) { return cu<Cu::cuEventQuery>(event); }
  static void record(CUevent event, CUstream stream) {
    EXPECT_EQ(cu<Cu::cuEventRecord>(event, stream), CUDA_SUCCESS);
  }
  static void wait(CUstream stream, CUevent event) {
    EXPECT_EQ(cu<Cu::cuStreamWaitEvent>(stream, event, 0U), CUDA_SUCCESS);
  }
  static void set(CUdeviceptr at, unsigned value, CUstream stream) {
    EXPECT_EQ(cu<Cu::cuMemsetD32Async>(at, value, size_t{1}, stream), CUDA_SUCCESS);
  }

  void send(CUevent event) {
    const CUipcEventHandle handle = handleOf(event);
    channel_.send(-1, &handle, sizeof handle);
  }
  CUevent receive() {
    CUipcEventHandle handle{};
    channel_.receive(&handle, sizeof handle);
    return openEvent(handle);
  }
  void sendMemory(CUdeviceptr p) {
    CUipcMemHandle handle{};
    EXPECT_EQ(cu<Cu::cuIpcGetMemHandle>(&handle, p), CUDA_SUCCESS);
    channel_.send(-1, &handle, sizeof handle);
  }
  CUdeviceptr receiveMemory() {
    CUipcMemHandle handle{};
    channel_.receive(&handle, sizeof handle);
    CUdeviceptr p = 0;
    EXPECT_EQ(cu<Cu::cuIpcOpenMemHandle_v2>(&p, handle, 1U), CUDA_SUCCESS);
    return p;
  }
  FdChannel channel_;
};

TEST_F(EventIpc, OtherThanSharedEvents_HaveNoHandle) {
  runReady([] {
    CUipcEventHandle handle{};
    CUevent event = nullptr;
    EXPECT_EQ(cu<Cu::cuIpcOpenEventHandle>(&event, handle), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cu<Cu::cuIpcGetEventHandle>(&handle, makeEvent()), CUDA_ERROR_INVALID_HANDLE);
    event = makeEvent(kShared);
    EXPECT_EQ(cu<Cu::cuIpcGetEventHandle>(static_cast<CUipcEventHandle*>(nullptr), event),
              CUDA_ERROR_INVALID_VALUE);
    handle = handleOf(event);
    EXPECT_EQ(cu<Cu::cuEventDestroy_v2>(event), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuIpcOpenEventHandle>(&event, handle), CUDA_ERROR_INVALID_HANDLE)
        << "its maker destroyed it";
  });
}

TEST_F(EventIpc, OpenedInOwnProcess_BehavesAsEvent) {
  runReady([] {
    const CUevent event = makeEvent(kShared);
    const CUevent twin = openEvent(handleOf(event));
    EXPECT_EQ(query(event), CUDA_SUCCESS) << "never recorded";
    const CUstream work = makeStream();
    const CUstream other = makeStream();
    const CUdeviceptr p = upload(std::vector<std::uint32_t>{0});
    {
      Gate gate(work);
      set(p, 7, work);
      record(event, work);
      EXPECT_EQ(query(event), CUDA_ERROR_NOT_READY);
      EXPECT_EQ(query(twin), CUDA_ERROR_NOT_READY);
      wait(other, twin);
      EXPECT_EQ(cu<Cu::cuStreamQuery>(other), CUDA_ERROR_NOT_READY);
      gate.open();
    }
    EXPECT_EQ(sync(other), CUDA_SUCCESS);
    EXPECT_EQ(download<std::uint32_t>(p, 1)[0], 7U);
    EXPECT_EQ(cu<Cu::cuEventSynchronize>(twin), CUDA_SUCCESS);
    EXPECT_EQ(query(event), CUDA_SUCCESS);
    float ms = 0;
    EXPECT_EQ(cu<Cu::cuEventElapsedTime>(&ms, event, twin), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cu<Cu::cuEventDestroy_v2>(twin), CUDA_SUCCESS);
    record(event, work);
    EXPECT_EQ(cu<Cu::cuEventSynchronize>(event), CUDA_SUCCESS);
  });
}

TEST_F(EventIpc, WaiterInOtherProcess_SeesBytes) {
  DriverProcess owner(environment(), [&] {
    makeReady();
    const CUdeviceptr p = upload(std::vector<std::uint32_t>{1});
    const CUevent ready = makeEvent(kShared);
    const CUstream stream = makeStream();
    Gate gate(stream);
    set(p, 2, stream);
    record(ready, stream);
    sendMemory(p);
    send(ready);
    DriverProcess::meet();
    gate.open();
    DriverProcess::meet();
    EXPECT_EQ(download<std::uint32_t>(p, 1)[0], 2U);
  });
  DriverProcess user(environment(), [&] {
    makeReady();
    const CUdeviceptr p = receiveMemory();
    const CUevent ready = receive();
    const CUstream stream = makeStream();
    auto* const seen = pinned<std::uint32_t>();
    wait(stream, ready);
    EXPECT_EQ(cu<Cu::cuMemcpyDtoHAsync_v2>(static_cast<void*>(seen), p, size_t{4}, stream),
              CUDA_SUCCESS);
    EXPECT_EQ(query(ready), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cu<Cu::cuStreamQuery>(stream), CUDA_ERROR_NOT_READY);
    DriverProcess::meet();
    EXPECT_EQ(sync(stream), CUDA_SUCCESS);
    EXPECT_EQ(*seen, 2U);
    EXPECT_EQ(query(ready), CUDA_SUCCESS);
  });
  owner.hear();
  user.hear();
  owner.resume();
  user.resume();
  user.expectSuccess();
  owner.hear();
  owner.resume();
  owner.expectSuccess();
}

TEST_F(EventIpc, OpenerRecords_MakerWaits) {
  DriverProcess maker(environment(), [&] {
    makeReady();
    const CUevent done = makeEvent(kShared);
    send(done);
    DriverProcess::meet();
    EXPECT_EQ(query(done), CUDA_ERROR_NOT_READY);
    DriverProcess::meet();
    EXPECT_EQ(cu<Cu::cuEventSynchronize>(done), CUDA_SUCCESS);
  });
  DriverProcess opener(environment(), [&] {
    makeReady();
    const CUevent done = receive();
    const CUstream stream = makeStream();
    Gate gate(stream);
    record(done, stream);
    DriverProcess::meet();
    gate.open();
    DriverProcess::meet();
  });
  opener.hear();
  maker.hear();
  maker.resume();
  maker.hear();
  opener.resume();
  maker.resume();
  maker.expectSuccess();
  opener.hear();
  opener.resume();
  opener.expectSuccess();
}

TEST_F(EventIpc, RecorderKilled_WaiterGoesOn) {
  DriverProcess recorder(environment(), [&] {
    makeReady();
    const CUevent never = makeEvent(kShared);
    const CUstream stream = makeStream();
    EXPECT_EQ(launch(builtin("spin_until"), stream, deviceView(pinned<std::uint32_t>()), 1U),
              CUDA_SUCCESS);
    record(never, stream);
    send(never);
    DriverProcess::meet();
  });
  DriverProcess waiter(environment(), [&] {
    makeReady();
    const CUevent never = receive();
    const CUstream stream = makeStream();
    wait(stream, never);
    EXPECT_EQ(query(never), CUDA_ERROR_NOT_READY);
    DriverProcess::meet();
    EXPECT_EQ(sync(stream), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuEventSynchronize>(never), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuEventDestroy_v2>(never), CUDA_SUCCESS);
  });
  recorder.hear();
  waiter.hear();
  recorder.killNow();
  waiter.resume();
  waiter.expectSuccess();
}

TEST_F(EventIpc, DestroyedOrDeadMakers_PlacesReused) {
  constexpr int kPlaces = 4096;
  runReady([] {
    for (int i = 0; i < kPlaces + 10; ++i) {
      const CUevent event = makeEvent(kShared);
      if (i % 2 == 0) {
        EXPECT_EQ(cu<Cu::cuEventDestroy_v2>(event), CUDA_SUCCESS);
      }
    }
  });
  runReady([] {
    for (int i = 0; i < kPlaces; ++i) ASSERT_NE(makeEvent(kShared), nullptr);
    CUevent event = nullptr;
    EXPECT_EQ(cu<Cu::cuEventCreate>(&event, kShared), CUDA_ERROR_OUT_OF_MEMORY);
  });
}

}  // namespace
}  // namespace divvy::simgpu
