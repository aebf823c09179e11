// Streams, kernels and memory of the simulated driver in a few words, for the exec_ tests.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <thread>
#include <vector>

#include "driver_process.h"
#include "simgpu/interval_reader.h"

namespace divvy::simgpu {

inline constexpr const char* kAllBuiltins = "simgpu-builtin 1\nall\n";
inline constexpr std::uint64_t kMillisecond = 1'000'000;

inline CUmodule loadText(const char* text) {
  CUmodule module = nullptr;
  EXPECT_EQ(cu<Cu::cuModuleLoadData>(&module, static_cast<const void*>(text)), CUDA_SUCCESS);
  return module;
}

inline CUfunction functionOf(CUmodule module, const char* name) {
  CUfunction function = nullptr;
  EXPECT_EQ(cu<Cu::cuModuleGetFunction>(&function, module, name), CUDA_SUCCESS) << name;
  return function;
}

// A built-in kernel in the current context.
inline CUfunction builtin(const char* name) {
  return functionOf(loadText(kAllBuiltins), name);
}

template <typename... Arguments>
CUresult launchShape(CUfunction f, unsigned grid, unsigned block, CUstream stream,
                     Arguments... arguments) {
  void* params[] = {&arguments..., nullptr};
  void** none = nullptr;
  return cu<Cu::cuLaunchKernel>(f, grid, 1U, 1U, block, 1U, 1U, 0U, stream, params, none);
}

template <typename... Arguments>
CUresult launch(CUfunction f, CUstream stream, Arguments... arguments) {
  return launchShape(f, 1, 32, stream, arguments...);
}

inline CUresult spin(CUstream stream, std::uint64_t nanos) {
  static const CUfunction f = builtin("spin");
  return launch(f, stream, nanos);
}

template <typename T>
T* pinned(std::size_t count = 1);

// Holds a stream until it is opened, so that what is put behind it is all there before it starts.
class Gate {
 public:
  explicit Gate(CUstream stream) : flag_(pinned<std::uint32_t>()) {
    EXPECT_EQ(launch(builtin("spin_until"), stream, reinterpret_cast<CUdeviceptr>(flag_), 1U),
              CUDA_SUCCESS);
  }
  void open() { std::atomic_ref(*flag_).store(1); }

 private:
  std::uint32_t* flag_;
};

inline CUdeviceptr allocate(std::size_t bytes) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&address, bytes), CUDA_SUCCESS);
  return address;
}

// Memory that the host and the card both see, at the same address; zeroed.
template <typename T>
T* pinned(std::size_t count) {
  void* memory = nullptr;
  EXPECT_EQ(cu<Cu::cuMemHostAlloc>(&memory, count * sizeof(T), 0U), CUDA_SUCCESS);
  std::memset(memory, 0, count * sizeof(T));
  return static_cast<T*>(memory);
}
template <typename T>
CUdeviceptr deviceView(T* memory) {
  return reinterpret_cast<CUdeviceptr>(memory);
}

template <typename T>
CUdeviceptr upload(const std::vector<T>& values) {
  const CUdeviceptr address = allocate(values.size() * sizeof(T));
  EXPECT_EQ(cu<Cu::cuMemcpyHtoD_v2>(address, static_cast<const void*>(values.data()),
                                    values.size() * sizeof(T)),
            CUDA_SUCCESS);
  return address;
}
template <typename T>
std::vector<T> download(CUdeviceptr address, std::size_t count) {
  std::vector<T> values(count);
  EXPECT_EQ(cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(values.data()), address, count * sizeof(T)),
            CUDA_SUCCESS);
  return values;
}

inline CUstream makeStream(unsigned flags = CU_STREAM_NON_BLOCKING) {
  CUstream stream = nullptr;
  EXPECT_EQ(cu<Cu::cuStreamCreate>(&stream, flags), CUDA_SUCCESS);
  return stream;
}
inline CUevent makeEvent(unsigned flags = CU_EVENT_DEFAULT) {
  CUevent event = nullptr;
  EXPECT_EQ(cu<Cu::cuEventCreate>(&event, flags), CUDA_SUCCESS);
  return event;
}
inline CUevent recordedIn(CUstream stream) {
  const CUevent event = makeEvent();
  EXPECT_EQ(cu<Cu::cuEventRecord>(event, stream), CUDA_SUCCESS);
  return event;
}
inline CUresult sync(CUstream stream) {
  return cu<Cu::cuStreamSynchronize>(stream);
}
inline float elapsed(CUevent from, CUevent to) {
  float ms = -1;
  EXPECT_EQ(cu<Cu::cuEventSynchronize>(to), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuEventElapsedTime>(&ms, from, to), CUDA_SUCCESS);
  return ms;
}

// Waits for a condition, at most 30 s.
template <typename Condition>
bool eventually(Condition&& condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

// A second thread with the same context current, joined at the end of the scope.
class OtherThread {
 public:
  template <typename Body>
  explicit OtherThread(Body body) {
    CUcontext context = nullptr;
    EXPECT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
    thread_ = std::thread([context, body] {
      EXPECT_EQ(cu<Cu::cuCtxSetCurrent>(context), CUDA_SUCCESS);
      body();
    });
  }
  ~OtherThread() { thread_.join(); }
  OtherThread(const OtherThread&) = delete;
  OtherThread& operator=(const OtherThread&) = delete;

 private:
  std::thread thread_;
};
template <typename Body>
void inOtherThread(Body body) {
  OtherThread thread(body);
}

}  // namespace divvy::simgpu
