// Legacy IPC of memory that can be swapped, and those who are to have nothing of it: other tenants,
// and whoever guesses.
#include <memory>
#include <utility>

#include "ipc/socket.h"
#include "ipc/token.h"
#include "ipc_fixture.h"

namespace divvy::interposer {
namespace {

// Two pods on the host's network could reach each other's sockets, and so have each other's memory.
TEST_F(IpcTest, HandleOfOtherTenant_OpenRefused) {
  Tenancy tenancy = swappable();
  tenancy.ipc_key = {{1, 2}};
  if (outside(tenancy)) return;
  constexpr ledger::SipKey kOthers[] = {{{1, 3}}, {{}}, {{1, 2}}};
  const auto neighbour = [&](const ledger::SipKey& key, CUresult expected) {
    return std::make_unique<Importer>([&, key, expected](const Importer& exporter) {
      Tenancy its = tenancy;
      its.ipc_key = key;
      const TenantDir dir;
      dir.makeTenant(its);
      ::setenv("DIVVY_TENANT_DIR", dir.tenant().c_str(), 1);
      makeReady();
      CUdeviceptr at = 0;
      EXPECT_EQ(open(&at, exporter.hear<CUipcMemHandle>()), expected) << key.words[1];
      EXPECT_EQ(faults(kRefused), expected == CUDA_SUCCESS ? 0u : 1u);
      EXPECT_TRUE(expected != CUDA_SUCCESS || has(at, 1));
      exporter.meet();
    });
  };
  const auto stranger = neighbour(kOthers[0], CUDA_ERROR_MAP_FAILED);
  const auto nobody = neighbour(kOthers[1], CUDA_ERROR_MAP_FAILED);
  const auto same_pod = neighbour(kOthers[2], CUDA_SUCCESS);
  makeSwappable();
  const CUdeviceptr at = block(1);
  for (const auto* other : {&stranger, &nobody, &same_pod}) {
    (*other)->tell(handleOf(at));
    (*other)->meet();
  }
}

// Who listens where an exporter listened is not told what that one's blocks are called.
TEST_F(IpcTest, ListenerOfOtherTenant_SecretNotSent) {
  Tenancy tenancy = swappable();
  tenancy.ipc_key = {{1, 2}};
  if (outside(tenancy)) return;
  IpcSocket socket, peer;
  std::uint64_t name = 0;
  ASSERT_TRUE(socket.listen(&name));
  const Importer victim([](const Importer& liar) {
    makeReady();
    CUdeviceptr at = 0;
    EXPECT_EQ(open(&at, liar.hear<CUipcMemHandle>()), CUDA_ERROR_MAP_FAILED);
    liar.meet();
  });
  const IpcToken token{IpcToken::kMagic, name, 77, kGiB, kReserved, 0, kBytes, 1};
  CUipcMemHandle handle;
  std::memcpy(&handle, &token, sizeof handle);
  victim.tell(handle);
  ASSERT_TRUE(socket.accept(&peer));
  IpcHello hello{};
  ASSERT_TRUE(peer.receive(&hello, sizeof hello, nullptr));
  const IpcChallenge challenge{IpcToken::kMagic, 5, 6};
  ASSERT_TRUE(peer.send(&challenge, sizeof challenge, -1));
  IpcAsk ask{};
  EXPECT_FALSE(peer.receive(&ask, sizeof ask, nullptr)) << "it hangs up";
  victim.meet();
  peer.close();
  socket.close();
}

TEST_F(IpcTest, ForgedHandle_OpenRefused) {
  if (outside(swappable())) return;
  const Importer other([](const Importer& exporter) {
    makeReady();
    const auto handle = exporter.hear<CUipcMemHandle>();
    CUdeviceptr at = 0;
    for (const std::size_t word : {1u, 2u, 3u, 7u}) {  // where, which, from where on, what
      CUipcMemHandle forged = handle;
      reinterpret_cast<unsigned char*>(&forged)[8 * word] ^= 0x5a;
      EXPECT_NE(open(&at, forged), CUDA_SUCCESS) << word;
    }
    CUipcMemHandle large = handle;
    std::memset(reinterpret_cast<unsigned char*>(&large) + 40, 0xff, 8);
    EXPECT_NE(open(&at, large), CUDA_SUCCESS);
    EXPECT_TRUE(has(opened(handle), 1)) << "others are served still";
    exporter.meet();
  });
  makeSwappable();
  other.tell(handleOf(block(1)));
  other.meet();
}

// The name of one block, changed to say what another one's says, opens neither that nor both.
TEST_F(IpcTest, HandleOfOtherBlockOrLargerSize_OpenRefused) {
  if (outside(swappable())) return;
  const Importer other([](const Importer& exporter) {
    makeReady();
    const auto low = exporter.hear<CUipcMemHandle>(), high = exporter.hear<CUipcMemHandle>();
    const CUdeviceptr at_low = opened(low), at_high = opened(high);
    EXPECT_TRUE(has(at_low, 1) && has(at_high, 2));
    EXPECT_EQ(close(at_low), CUDA_SUCCESS);
    EXPECT_EQ(close(at_high), CUDA_SUCCESS);
    constexpr std::size_t kSecret = 2 * 8, kSize = 8, kReservedAt = 4 * 8;
    CUipcMemHandle forged = high;
    std::memcpy(forged.reserved + kSecret, low.reserved + kSecret, kSize);
    CUdeviceptr none = 0;
    EXPECT_NE(open(&none, forged), CUDA_SUCCESS) << "with the secret of another block";
    for (const std::uint64_t bytes : {2 * kReserved, kReserved + 2 * kMiB}) {
      forged = low;
      std::memcpy(forged.reserved + kReservedAt, &bytes, kSize);
      EXPECT_NE(open(&none, forged), CUDA_SUCCESS) << "with what lies behind it";
    }
    exporter.meet();
  });
  makeSwappable();
  CUdeviceptr low = block(1), high = block(2);
  if (high < low) {
    std::swap(low, high);
    write(low, 1);
    write(high, 2);
  }
  other.tell(handleOf(low));
  other.tell(handleOf(high));
  other.meet();
}

}  // namespace
}  // namespace divvy::interposer
