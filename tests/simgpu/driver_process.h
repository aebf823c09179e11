// Runs a piece of a test in a process of its own that loads a built driver, as a program would.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "abi/cuda_entries.h"
#include "abi/cuda_protos.h"
#include "abi/cuda_types.h"
#include "scratch_dir.h"
#include "simgpu/card_reader.h"

namespace divvy::simgpu {

using abi::Cu;

inline void*& driverHandle() {
  static void* handle = nullptr;
  return handle;
}

// Where the build put a library of the simulated driver.
inline std::string driverPath(const std::string& variant, const char* library) {
  const char* build = std::getenv("DIVVY_BUILD_DIR");
  return std::string(build == nullptr ? "." : build) + "/" + variant + "/" + library;
}

// Which driver the suite runs on: DIVVY_SIMGPU_VARIANT, or the one that ships.
inline std::string driverVariant() {
  const char* variant = std::getenv("DIVVY_SIMGPU_VARIANT");
  return variant == nullptr ? "simgpu" : variant;
}

// Calls an entry point of the loaded driver by its exported name: cu<Cu::cuInit>(0).
template <Cu id, typename... Arguments>
CUresult cu(Arguments... arguments) {
  static auto* const function = reinterpret_cast<typename abi::CuFn<id>::type*>(
      dlsym(driverHandle(), abi::kCuEntries[static_cast<unsigned>(id)].symbol));
  if (function == nullptr) return CUDA_ERROR_NOT_FOUND;
  return function(arguments...);
}

using Environment = std::map<std::string, std::string>;

// A child process with its own driver. Expectations inside `body` count for the test.
class DriverProcess {
 public:
  DriverProcess(const Environment& environment, const std::function<void()>& body) {
    fflush(stdout);
    if (pipe(to_test_) != 0 || pipe(to_child_) != 0) std::abort();
    pid_ = fork();
    if (pid_ != 0) return;
    self() = this;
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    driverHandle() =
        dlopen(driverPath(driverVariant(), "libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (driverHandle() == nullptr) ADD_FAILURE() << dlerror();
    if (driverHandle() != nullptr) body();
    fflush(stdout);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  ~DriverProcess() {
    if (!joined_) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    for (const int fd : {to_test_[0], to_test_[1], to_child_[0], to_child_[1]}) close(fd);
  }
  DriverProcess(const DriverProcess&) = delete;
  DriverProcess& operator=(const DriverProcess&) = delete;

  // In the child: tells the test that a point was reached, and waits for resume().
  static void meet() { self()->report(0), self()->waitForTest(); }
  // In the child: sends a number to the test.
  static void tell(std::uint64_t value) { self()->report(value); }

  // In the test: the next number told (0 from meet()).
  std::uint64_t hear() {
    std::uint64_t value = ~std::uint64_t{0};
    close(to_test_[1]);
    to_test_[1] = -1;
    EXPECT_EQ(read(to_test_[0], &value, sizeof value), static_cast<ssize_t>(sizeof value))
        << "the process ended early";
    return value;
  }
  void resume() { EXPECT_EQ(write(to_child_[1], "g", 1), 1); }
  void killNow() {
    kill(pid_, SIGKILL);
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  int status() {
    int status = 0;
    waitpid(pid_, &status, 0);
    joined_ = true;
    return status;
  }
  void expectSuccess() { EXPECT_EQ(status(), 0) << "see the expectations above"; }
  pid_t pid() const { return pid_; }

 private:
  static DriverProcess*& self() {
    static DriverProcess* process = nullptr;
    return process;
  }
  void report(std::uint64_t value) {
    if (write(to_test_[1], &value, sizeof value) != static_cast<ssize_t>(sizeof value)) _exit(9);
  }
  void waitForTest() {
    char c;
    if (read(to_child_[0], &c, 1) != 1) _exit(9);
  }

  int to_test_[2]{};
  int to_child_[2]{};
  pid_t pid_ = 0;
  bool joined_ = false;
};

// One machine of simulated cards, private to a test.
class DriverTest : public testing::Test {
 protected:
  const std::string& dir() const { return dir_.path(); }
  virtual std::string profile() const { return "rtx4070"; }

  Environment environment(Environment extra = {}) const {
    extra.emplace("SIMGPU_DIR", dir());
    extra.emplace("SIMGPU_PROFILE", profile());
    return extra;
  }
  // Runs the body in one process to its end.
  void run(const std::function<void()>& body, const Environment& extra = {}) {
    DriverProcess process(environment(extra), body);
    process.expectSuccess();
  }
  // Likewise, after cuInit and with device 0's primary context current.
  void runReady(const std::function<void()>& body, const Environment& extra = {}) {
    run(
        [&] {
          makeReady();
          body();
        },
        extra);
  }
  static void makeReady() {
    ASSERT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS);
    CUcontext context = nullptr;
    ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxRetain>(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(context), CUDA_SUCCESS);
  }
  // What the books of card 0 say about the calling process: bytes of a kind.
  static std::uint64_t booked(Charge kind) {
    const auto view = readCard(std::getenv("SIMGPU_DIR"), 0);
    if (!view) return ~std::uint64_t{0};
    for (const ProcessView& process : view->processes) {
      if (process.pid == getpid()) return process.by_kind[static_cast<int>(kind)];
    }
    return 0;
  }
  static std::uint64_t freeBytes() {
    size_t bytes = 0;
    EXPECT_EQ(cu<Cu::cuMemGetInfo_v2>(&bytes, static_cast<size_t*>(nullptr)), CUDA_SUCCESS);
    return bytes;
  }

 private:
  ScratchDir dir_;
};

inline constexpr std::uint64_t kMiB = 1ULL << 20;
inline constexpr std::uint64_t kGiB = 1ULL << 30;

}  // namespace divvy::simgpu
