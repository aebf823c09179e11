// What a tenant had on the card, or has in host memory meanwhile, is nobody else's to read.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cuda/memory/memory.h"
#include "swap_fixture.h"

namespace divvy::interposer {
namespace {

constexpr char kStranger[] = "DIVVY_TEST_STRANGER";
constexpr unsigned kSecret = 0x5ec2e75a;
constexpr std::uint64_t kBytes = 64 * kMiB;
constexpr std::uint64_t kPiece = 16 * kMiB;

class SecretsTest : public SwapTest {
 protected:
  // A small card, of which most can be looked at.
  static Tenancy smallCard() {
    Tenancy tenancy = swappable();
    tenancy.machine = "swap";
    tenancy.ceiling = 512 * kMiB;
    return tenancy;
  }

  static CUdeviceptr secretBlock(std::uint64_t bytes) {
    CUdeviceptr block = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{bytes}), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemsetD32_v2>(block, kSecret, std::size_t{bytes / 4}), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuCtxSynchronize>(), CUDA_SUCCESS);
    return block;
  }

  // Words of fresh memory that are not as the card gives out fresh memory.
  static std::uint64_t foreignWords(CUdeviceptr at, std::uint64_t bytes) {
    constexpr unsigned kFresh = simgpu::kPoison * 0x01010101u;
    std::vector<std::uint32_t> words(bytes / 4);
    EXPECT_EQ(cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(words.data()), at, std::size_t{bytes}),
              CUDA_SUCCESS);
    std::uint64_t found = 0;
    for (const std::uint32_t word : words) found += word != kFresh;
    return found;
  }

  // Memory of one of the forms that there are; false: there is no more.
  static bool take(unsigned form, CUstream stream, CUdeviceptr* at) {
    CUresult made = CUDA_SUCCESS;
    if (form % 3 == 0) made = cu<Cu::cuMemAlloc_v2>(at, std::size_t{kPiece});
    if (form % 3 == 1) made = cu<Cu::cuMemAllocAsync>(at, std::size_t{kPiece}, stream);
    if (form % 3 == 2) made = takeByHandle(at);
    EXPECT_EQ(cu<Cu::cuStreamSynchronize>(stream), CUDA_SUCCESS);
    EXPECT_TRUE(made == CUDA_SUCCESS || made == CUDA_ERROR_OUT_OF_MEMORY) << made;
    return made == CUDA_SUCCESS;
  }
  static CUresult takeByHandle(CUdeviceptr* at) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemGenericAllocationHandle handle = 0;
    const CUmemAllocationProp& asked = prop;
    const CUresult made = cu<Cu::cuMemCreate>(&handle, std::size_t{kPiece}, &asked, 0ull);
    if (made != CUDA_SUCCESS) return made;
    CUmemAccessDesc desc{};
    desc.location = prop.location;
    desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    const CUmemAccessDesc& access = desc;
    EXPECT_EQ(
        cu<Cu::cuMemAddressReserve>(at, std::size_t{kPiece}, std::size_t{0}, CUdeviceptr{0}, 0ull),
        CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemMap>(*at, std::size_t{kPiece}, std::size_t{0}, handle, 0ull),
              CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemSetAccess>(*at, std::size_t{kPiece}, &access, std::size_t{1}),
              CUDA_SUCCESS);
    return made;
  }

  // In the stranger's process: takes all that the card gives out, in every form, and looks at it.
  static void beStranger() {
    makeReady();
    std::uint64_t looked = 0;
    CUstream stream = nullptr;
    ASSERT_EQ(cu<Cu::cuStreamCreate>(&stream, 1u), CUDA_SUCCESS);
    CUdeviceptr at = 0;
    for (unsigned form = 0; take(form, stream, &at); ++form) {
      ASSERT_EQ(foreignWords(at, kPiece), 0u) << "after " << looked;
      looked += kPiece;
    }
    EXPECT_GE(looked, 2 * kBytes) << "not enough to have met what somebody else had";
  }

  // Another tenant's process on the same card, until its end.
  static void letAStrangerLook() {
    const TenantDir other;
    Tenancy native = smallCard();
    native.swap = false;
    other.makeTenant(native);
    std::vector<std::string> entries = {std::string(kStranger) + "=1",
                                        "DIVVY_TENANT_DIR=" + other.tenant()};
    for (char** entry = environ; *entry != nullptr; ++entry) {
      if (std::string(*entry).rfind("DIVVY_TENANT_DIR=", 0) != 0) entries.emplace_back(*entry);
    }
    std::vector<char*> variables;
    for (std::string& entry : entries) variables.push_back(entry.data());
    variables.push_back(nullptr);
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    std::string filter =
        std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
    std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    char* arguments[] = {self.data(), filter.data(), nullptr};
    pid_t child = -1;
    ASSERT_EQ(::posix_spawn(&child, self.c_str(), nullptr, nullptr, arguments, variables.data()),
              0);
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "see what the stranger found";
  }
};

TEST_F(SecretsTest, SwappedOutOrFreedMemory_NotReadByOtherTenant) {
  if (outside(smallCard())) return;
  if (std::getenv(kStranger) != nullptr) return beStranger();
  makeSwappable();
  const CUdeviceptr kept = secretBlock(kBytes), freed = secretBlock(kBytes);
  allow(0);
  ASSERT_TRUE(becomesResident(0));
  letAStrangerLook();
  allow(kEverything);
  ASSERT_TRUE(becomesResident(2 * kBytes));
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(freed), CUDA_SUCCESS);
  letAStrangerLook();
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(kept), CUDA_SUCCESS);
  letAStrangerLook();
}

// Host memory that held one block is used for the next.
TEST_F(SecretsTest, NewBlockAfterSwappedOutOne_HasNoOldBytes) {
  if (outside(smallCard())) return;
  makeSwappable();
  const CUdeviceptr old = secretBlock(kBytes);
  allow(0);
  ASSERT_TRUE(becomesResident(0));
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(old), CUDA_SUCCESS);
  CUdeviceptr born = 0;
  ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&born, std::size_t{kBytes}), CUDA_SUCCESS);
  EXPECT_EQ(resident(), 0u) << "without memory yet";
  allow(kEverything);
  ASSERT_TRUE(becomesResident(kBytes));
  EXPECT_EQ(foreignWords(born, kBytes), 0u);
  allow(0);
  ASSERT_TRUE(becomesResident(0));
  allow(kEverything);
  EXPECT_EQ(foreignWords(born, kBytes), 0u) << "nor when it was away itself";
}

// ---- host memory -------------------------------------------------------------------------------

struct Mapping {
  std::uint64_t begin = 0, end = 0;
  std::string permissions, flags;
  std::uint64_t inode = 0, resident_kib = 0;
};

std::vector<Mapping> mappings() {
  std::vector<Mapping> all;
  std::ifstream file("/proc/self/smaps");
  for (std::string line; std::getline(file, line);) {
    Mapping fresh;
    std::array<char, 8> permissions{};
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %7s %*x %*s %" SCNu64, &fresh.begin,
                    &fresh.end, permissions.data(), &fresh.inode) == 4) {
      fresh.permissions = permissions.data();
      all.push_back(fresh);
    } else if (line.rfind("Rss:", 0) == 0) {
      all.back().resident_kib = std::strtoull(line.c_str() + 4, nullptr, 10);
    } else if (line.rfind("VmFlags:", 0) == 0) {
      all.back().flags = line.substr(8) + " ";
    }
  }
  return all;
}

std::uint64_t secretBytes(const Mapping& mapping) {
  static std::array<std::uint32_t, 16384> part;
  std::ifstream memory("/proc/self/mem", std::ios::binary);
  memory.seekg(static_cast<std::streamoff>(mapping.begin));
  std::uint64_t found = 0;
  for (std::uint64_t at = mapping.begin; at < mapping.end; at += sizeof part) {
    if (!memory.read(reinterpret_cast<char*>(part.data()), sizeof part)) break;
    for (const std::uint32_t word : part) found += word == kSecret ? sizeof word : 0;
  }
  part.fill(0);
  return found;
}

TEST_F(SecretsTest, HostCopyOfSwappedMemory_PrivateAndNotDumped) {
  if (outside(smallCard())) return;
  makeSwappable();
  secretBlock(kBytes);
  allow(0);
  ASSERT_TRUE(becomesResident(0));
  std::uint64_t found = 0;
  for (const Mapping& mapping : mappings()) {
    // Shared ones are the simulated card's.
    if (mapping.resident_kib == 0 || mapping.permissions != "rw-p") continue;
    const std::uint64_t secrets = secretBytes(mapping);
    if (secrets < kPiece / 16) continue;
    found += secrets;
    EXPECT_EQ(mapping.inode, 0u) << "it is no file's";
    EXPECT_NE(mapping.flags.find(" dd "), std::string::npos) << "dumped:" << mapping.flags;
    EXPECT_NE(mapping.flags.find(" dc "), std::string::npos) << "forked:" << mapping.flags;
  }
  EXPECT_EQ(found, kBytes) << "it is somewhere else";
}

}  // namespace
}  // namespace divvy::interposer
