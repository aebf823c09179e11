// Tests of legacy IPC of memory that can be swapped: two processes of a tenant, told by each other.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>

#include "swap_fixture.h"

namespace divvy::interposer {

inline constexpr std::size_t kBytes = 7 * kMiB + 12344;  // four chunks
inline constexpr std::uint64_t kReserved = 8 * kMiB;
inline constexpr std::uint64_t kSmall = 6000;  // a piece of an arena
inline constexpr unsigned kRefused = 23;       // Fault::kIpcRefused

// A second process of the tenant, forked before this one uses the driver.
class Importer {
 public:
  template <typename Body>
  explicit Importer(Body body) {
    EXPECT_EQ(::pipe(down_) | ::pipe(up_), 0);
    child_ = ::fork();
    if (child_ != 0) {
      ::close(up_[1]);
      return;
    }
    ::alarm(100);
    ::close(up_[0]);
    ::close(down_[1]);
    body(*this);
    std::fflush(stdout);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  ~Importer() {
    if (child_ <= 0) return;
    ::close(down_[1]);
    int status = -1;
    ::waitpid(child_, &status, 0);
    EXPECT_EQ(status, 0) << "see the importer's expectations";
    ::close(down_[0]);
    ::close(up_[0]);
  }
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;

  template <typename T>
  void tell(const T& value) const {
    const int fd = child_ == 0 ? up_[1] : down_[1];
    EXPECT_EQ(::write(fd, &value, sizeof value), static_cast<ssize_t>(sizeof value));
  }
  template <typename T>
  T hear() const {
    T value{};
    const int fd = child_ == 0 ? down_[0] : up_[0];
    EXPECT_EQ(::read(fd, &value, sizeof value), static_cast<ssize_t>(sizeof value));
    return value;
  }
  // Both call it; it returns when both have.
  void meet() const {
    tell('.');
    hear<char>();
  }
  // Without a word. The child's end is then no failure.
  void kill() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
  }

 private:
  int down_[2], up_[2];
  pid_t child_ = -1;
};

class IpcTest : public SwapTest {
 protected:
  static CUipcMemHandle handleOf(CUdeviceptr address) {
    CUipcMemHandle handle{};
    EXPECT_EQ(cu<Cu::cuIpcGetMemHandle>(&handle, address), CUDA_SUCCESS);
    return handle;
  }
  static CUresult open(CUdeviceptr* out, const CUipcMemHandle& handle) {
    return cu<Cu::cuIpcOpenMemHandle_v2>(out, handle, 1u);
  }
  static CUdeviceptr opened(const CUipcMemHandle& handle) {
    CUdeviceptr at = 0;
    EXPECT_EQ(open(&at, handle), CUDA_SUCCESS);
    return at;
  }
  static CUresult close(CUdeviceptr address) { return cu<Cu::cuIpcCloseMemHandle>(address); }
  static CUdeviceptr block(unsigned seed) {
    CUdeviceptr at = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&at, kBytes), CUDA_SUCCESS);
    write(at, seed);
    return at;
  }
  static void write(CUdeviceptr at, unsigned seed) {
    const auto words = pattern(kBytes, seed);
    EXPECT_EQ(cu<Cu::cuMemcpyHtoD_v2>(at, static_cast<const void*>(words.data()),
                                      words.size() * sizeof words[0]),
              CUDA_SUCCESS);
  }
  static bool has(CUdeviceptr at, unsigned seed) { return holds(at, kBytes, seed); }
  template <typename T>
  static T ask(CUpointer_attribute attribute, CUdeviceptr at) {
    T value{};
    EXPECT_EQ(cu<Cu::cuPointerGetAttribute>(static_cast<void*>(&value), attribute, at),
              CUDA_SUCCESS)
        << attribute;
    return value;
  }
};

}  // namespace divvy::interposer
