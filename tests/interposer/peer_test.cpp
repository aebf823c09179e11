// I8: peers, shared memory and handles between processes pass unaltered, and cost their exporter.
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tenant_test.h"

namespace divvy::interposer {
namespace {

class PeerTest : public TenantTest {
 protected:
  struct Pipes {
    int to_child[2], to_parent[2];
    Pipes() { EXPECT_EQ(::pipe(to_child) | ::pipe(to_parent), 0); }
  };
  template <typename T>
  static void send(int fd, const T& value) {
    ASSERT_EQ(::write(fd, &value, sizeof value), static_cast<ssize_t>(sizeof value));
  }
  template <typename T>
  static T receive(int fd) {
    T value{};
    EXPECT_EQ(::read(fd, &value, sizeof value), static_cast<ssize_t>(sizeof value));
    return value;
  }
};

// What a program with two cards is told, with and without a tenant.
std::string peerAnswers() {
  CUcontext context[2] = {};
  CUdeviceptr block[2] = {};
  int can = -1, attribute = -1;
  std::string answers;
  const auto note = [&answers](CUresult result) { answers += std::to_string(result) + " "; };
  note(cu<Cu::cuInit>(0u));
  for (int i : {0, 1}) {
    note(cu<Cu::cuDevicePrimaryCtxRetain>(&context[i], i));
    note(cu<Cu::cuCtxSetCurrent>(context[i]));
    note(cu<Cu::cuMemAlloc_v2>(&block[i], std::size_t{kMiB}));
  }
  note(cu<Cu::cuDeviceCanAccessPeer>(&can, 0, 1));
  note(cu<Cu::cuDeviceGetP2PAttribute>(&attribute, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
  answers += "can " + std::to_string(can) + " attribute " + std::to_string(attribute) + " ";
  note(cu<Cu::cuCtxEnablePeerAccess>(context[0], 0u));
  note(cu<Cu::cuCtxEnablePeerAccess>(context[0], 0u));
  note(cu<Cu::cuMemcpyPeer>(block[1], context[1], block[0], context[0], std::size_t{kMiB}));
  note(cu<Cu::cuCtxDisablePeerAccess>(context[0]));
  for (int i : {1, 0}) note(cu<Cu::cuMemFree_v2>(block[i]));
  return answers;
}

// Not EXPECT: the same text must come out of two different processes.
TEST_F(PeerTest, TwoPeers_I8AnswersAsDriver) {
  const std::string expected = "0 0 0 0 0 0 0 0 0 can 1 attribute 1 0 704 0 0 0 0 ";
  if (outside({.machine = "h100x2", .devices = {0, 1}})) return;
  EXPECT_EQ(peerAnswers(), expected);
  EXPECT_EQ(charged(0), booked(0));
  EXPECT_EQ(charged(1), booked(1));
}

TEST_F(PeerTest, TwoPeersWithoutTenant_I8ExpectedAnswers) {
  const std::string expected = "0 0 0 0 0 0 0 0 0 can 1 attribute 1 0 704 0 0 0 0 ";
  if (outside({.machine = "h100x2", .devices = {0, 1}, .tenant = false})) return;
  EXPECT_EQ(peerAnswers(), expected);
}

TEST_F(PeerTest, MemoryOpenedByOtherProcess_I8ChargedToExporter) {
  if (outside()) return;
  const Pipes pipes;
  const pid_t child = ::fork();
  if (child == 0) {
    makeReady();
    const auto handle = receive<CUipcMemHandle>(pipes.to_child[0]);
    const std::uint64_t with_parent = charged();
    CUdeviceptr opened = 0;
    EXPECT_EQ(cu<Cu::cuIpcOpenMemHandle_v2>(&opened, handle, 1u), CUDA_SUCCESS);
    EXPECT_EQ(charged(), with_parent);
    EXPECT_EQ(charged(), bookedByAll());
    EXPECT_EQ(cu<Cu::cuIpcCloseMemHandle>(opened), CUDA_SUCCESS);
    EXPECT_EQ(charged(), with_parent);
    send(pipes.to_parent[1], testing::Test::HasFailure());
    ::_exit(0);
  }
  makeReady();
  CUdeviceptr block = 0;
  CUipcMemHandle handle{};
  ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{64 * kMiB}), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuIpcGetMemHandle>(&handle, block), CUDA_SUCCESS);
  send(pipes.to_child[1], handle);
  EXPECT_FALSE(receive<bool>(pipes.to_parent[0])) << "see the child's expectations";
  ::waitpid(child, nullptr, 0);
  ASSERT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
}

TEST_F(PeerTest, RacingProcesses_S2ShareNotExceeded) {
  if (outside({.ceiling = 2 * kGiB})) return;
  constexpr int kProcesses = 4;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = ::fork();
    if (child == 0) {
      makeReady();
      for (int i = 0; i < 300; ++i) {
        CUdeviceptr block = 0;
        const CUresult result = cu<Cu::cuMemAlloc_v2>(&block, std::size_t{300 * kMiB});
        EXPECT_TRUE(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_LE(bookedByAll(), 2 * kGiB);
        if (result == CUDA_SUCCESS) {
          EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
        }
      }
      EXPECT_EQ(cu<Cu::cuDevicePrimaryCtxRelease_v2>(0), CUDA_SUCCESS);
      ::_exit(testing::Test::HasFailure() ? 1 : 0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(charged(), 0u);
  EXPECT_EQ(bookedByAll(), 0u);
}

}  // namespace
}  // namespace divvy::interposer
