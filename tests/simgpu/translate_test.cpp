// Where the bytes of device memory are, and which accesses fault: the driver's insides, for what no
// entry point shows without kernels.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <vector>

#include "cuda/context/runtime.h"
#include "cuda/graph/graph_memory.h"
#include "cuda/memory/host_memory.h"
#include "cuda/memory/managed.h"
#include "cuda/memory/memory.h"
#include "cuda/memory/memory_table.h"
#include "cuda/pool/pool_exec.h"
#include "scratch_dir.h"

namespace divvy::simgpu {
namespace {

constexpr std::size_t kMiB = 1 << 20;

// Every test in a process of its own: the driver's state is one per process.
class Translate : public testing::Test {
 protected:
  void run(const char* profile, const std::function<void(Context&)>& body) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      setenv("SIMGPU_DIR", dir_.path().c_str(), 1);
      setenv("SIMGPU_PROFILE", profile, 1);
      EXPECT_EQ(Runtime::get().init(), CUDA_SUCCESS);
      Context* context = nullptr;
      EXPECT_EQ(retainPrimary(*findDevice(0), &context), CUDA_SUCCESS);
      if (!HasFailure()) body(*context);
      fflush(stdout);
      _exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  static CUdeviceptr allocate(Context& context, std::size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(allocateOwned(context, Charge::kPlain, bytes, &address), CUDA_SUCCESS);
    return address;
  }
  static std::byte* bytesAt(Context& context, CUdeviceptr address, std::size_t bytes) {
    std::byte* host = nullptr;
    EXPECT_EQ(translate(context, address, bytes, Access::kReadWrite, &host), CUDA_SUCCESS);
    return host;
  }

 private:
  ScratchDir dir_;
};

TEST_F(Translate, FreshOrReusedMemory_IsPoisoned) {
  run("rtx4070", [](Context& context) {
    for (const std::size_t bytes : {std::size_t{512}, std::size_t{100'000}, 3 * kMiB}) {
      for (int round = 0; round < 2; ++round) {
        const CUdeviceptr address = allocate(context, bytes);
        std::byte* host = bytesAt(context, address, bytes);
        for (std::size_t i = 0; i < bytes; i += 97) {
          ASSERT_EQ(host[i], std::byte{kPoison}) << bytes << " in round " << round;
        }
        std::memset(host, 1, bytes);
        freeOwned(address);
      }
    }
  });
}

TEST(PoisonBits, OverwrittenChunks_GetNoPattern) {
  std::vector<std::byte> memory(4 * kPoisonChunk, std::byte{1});
  std::atomic<std::uint64_t> word{0};
  const PoisonBits bits(&word, 0);
  constexpr std::uint64_t kFirst = 100;
  constexpr std::uint64_t kBytes = 3 * kPoisonChunk;
  bits.touchForOverwrite(kFirst, kBytes, memory.data() + kFirst);
  for (std::uint64_t chunk = 0; chunk < 4; ++chunk) EXPECT_TRUE(bits.touched(chunk)) << chunk;
  EXPECT_EQ(memory[0], std::byte{kPoison}) << "before the range";
  EXPECT_EQ(memory[kPoisonChunk], std::byte{1}) << "wholly within";
  EXPECT_EQ(memory[3 * kPoisonChunk - 1], std::byte{1});
  EXPECT_EQ(memory[4 * kPoisonChunk - 1], std::byte{kPoison}) << "behind the range";
}

TEST_F(Translate, RefusedOverwrite_MemoryStaysPoisoned) {
  run("rtx4070", [](Context& context) {
    const CUdeviceptr address = allocate(context, 4 * kMiB);
    std::byte* host = nullptr;
    EXPECT_EQ(translate(context, address, 512 * kMiB, Access::kOverwrite, &host),
              CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(bytesAt(context, address, 1)[0], std::byte{kPoison});
  });
}

TEST_F(Translate, Poison_NeighbourUntouched) {
  run("rtx4070", [](Context& context) {
    const CUdeviceptr first = allocate(context, 512);
    std::memset(bytesAt(context, first, 512), 7, 512);
    const CUdeviceptr second = allocate(context, 512);
    EXPECT_EQ(bytesAt(context, second, 512)[0], std::byte{kPoison});
    EXPECT_EQ(bytesAt(context, first, 512)[511], std::byte{7});
  });
}

TEST_F(Translate, FreedOrUnknownAddress_Faults) {
  run("rtx4070", [](Context& context) {
    const CUdeviceptr address = allocate(context, 4096);
    std::byte* host = nullptr;
    EXPECT_EQ(translate(context, address + 4095, 1, Access::kRead, &host), CUDA_SUCCESS);
    EXPECT_EQ(translate(context, address + 4095, 2, Access::kRead, &host),
              CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(translate(context, address, SIZE_MAX, Access::kRead, &host),
              CUDA_ERROR_ILLEGAL_ADDRESS);
    const std::uint64_t epoch = memoryEpoch();
    freeOwned(address);
    EXPECT_NE(memoryEpoch(), epoch) << "caches must notice";
    EXPECT_EQ(translate(context, address, 1, Access::kRead, &host), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(translate(context, 64, 1, Access::kRead, &host), CUDA_ERROR_ILLEGAL_ADDRESS);
  });
}

TEST_F(Translate, PeerMemory_KernelsNeedPeerAccess) {
  run("h100x2", [](Context& context) {
    Context* other = nullptr;
    ASSERT_EQ(retainPrimary(*findDevice(1), &other), CUDA_SUCCESS);
    const CUdeviceptr remote = allocate(*other, 512);
    std::byte* host = nullptr;
    EXPECT_EQ(translate(context, remote, 512, Access::kRead, &host), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(translate(context, remote, 512, Access::kRead, &host, true), CUDA_SUCCESS);
    context.peers.insert(&other->device());
    EXPECT_EQ(translate(context, remote, 512, Access::kRead, &host), CUDA_SUCCESS);
  });
}

TEST_F(Translate, LookedUpRange_TranslatesByConstant) {
  run("rtx4070", [](Context& context) {
    const CUdeviceptr address = allocate(context, 5 * kMiB);
    RangeView view{};
    ASSERT_EQ(lookupRange(context, address + 2 * kMiB + 5, &view), CUDA_SUCCESS);
    EXPECT_LE(view.begin, address + 2 * kMiB + 5);
    EXPECT_GT(view.end, address + 2 * kMiB + 5);
    EXPECT_TRUE(view.writable);
    EXPECT_EQ(view.host[0], std::byte{kPoison}) << "laid before it is handed out";
    std::byte* host = bytesAt(context, view.begin, view.end - view.begin);
    EXPECT_EQ(host, view.host);
  });
}

TEST_F(Translate, DeviceAccess_MovesManagedPage) {
  run("rtx4070", [](Context& context) {
    CUdeviceptr address = 0;
    ASSERT_EQ(allocateManaged(context, 6 * kMiB, CU_MEM_ATTACH_GLOBAL, &address), CUDA_SUCCESS);
    reinterpret_cast<char*>(address)[5] = 42;
    const ProcessRecord& books = *context.device().card.self();
    const auto managed = [&] { return books.bytes[static_cast<int>(Charge::kManaged)]; };
    EXPECT_EQ(managed(), 0U);
    std::byte* host = bytesAt(context, address + 5, 1);
    EXPECT_EQ(*host, std::byte{42}) << "what the host wrote";
    EXPECT_EQ(managed(), 2 * kMiB) << "one page";
    *host = std::byte{43};
    EXPECT_EQ(reinterpret_cast<char*>(address)[5], 43) << "and back";
    freeRegion(address);
    EXPECT_EQ(managed(), 0U);
  });
}

TEST_F(Translate, GraphMemory_BackedFromLaunchToTrim) {
  run("rtx4070", [](Context& context) {
    Device& device = context.device();
    const ProcessRecord& books = *device.card.self();
    const auto charged = [&] { return books.bytes[static_cast<int>(Charge::kGraph)]; };
    const auto trim = [&] {
      const std::unique_lock guard(MemoryTable::get().mutex);
      trimGraphMemory(device);
    };
    CUdeviceptr address = 0;
    ASSERT_EQ(graphReserve(device, 3 * kMiB, &address), CUDA_SUCCESS);
    EXPECT_EQ(charged(), 0U);
    ASSERT_EQ(graphBack(address), CUDA_SUCCESS);
    ASSERT_EQ(graphBack(address), CUDA_SUCCESS) << "the next launch uses what is there";
    EXPECT_EQ(charged(), 4 * kMiB);
    std::byte* host = nullptr;
    EXPECT_EQ(translate(context, address, 1, Access::kRead, &host), CUDA_ERROR_ILLEGAL_ADDRESS)
        << "not before the node has run";
    graphOpen(address);
    EXPECT_EQ(*bytesAt(context, address, 1), std::byte{kPoison});
    trim();
    EXPECT_EQ(charged(), 4 * kMiB) << "in use";
    graphClose(address);
    EXPECT_EQ(translate(context, address, 1, Access::kRead, &host), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(charged(), 4 * kMiB) << "kept for the next launch";
    graphRelease(address);
    EXPECT_EQ(charged(), 4 * kMiB) << "kept for the next graph";
    trim();
    EXPECT_EQ(charged(), 0U);
  });
}

TEST_F(Translate, PinnedHostMemory_MapsToItself) {
  run("rtx4070", [](Context& context) {
    static char buffer[100];
    std::byte* host = nullptr;
    const auto address = reinterpret_cast<CUdeviceptr>(buffer);
    EXPECT_EQ(translate(context, address, 100, Access::kRead, &host), CUDA_ERROR_ILLEGAL_ADDRESS)
        << "pageable memory is not reachable from the card";
    EXPECT_EQ(registerHost(context, buffer, sizeof buffer, 0), CUDA_SUCCESS);
    EXPECT_EQ(bytesAt(context, address, 100), reinterpret_cast<std::byte*>(buffer));
    releaseHost(address);
    EXPECT_EQ(translate(context, address, 100, Access::kRead, &host), CUDA_ERROR_ILLEGAL_ADDRESS);
  });
}

}  // namespace
}  // namespace divvy::simgpu
