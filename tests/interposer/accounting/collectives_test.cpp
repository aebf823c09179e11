// What a library of collectives allocates stays on the card: peers and network cards use it behind
// everybody's back. What the application allocates beside it is swapped as ever.
#include <dlfcn.h>

#include "vmm_fixture.h"

namespace divvy::interposer {
namespace {

class CollectivesTest : public VmmSwapTest {
 protected:
  // What the mover was about to bring back it lets go of a moment after its owner did.
  static void expectExactSoon() {
    EXPECT_TRUE(eventually([] { return charged() == booked(); }))
        << charged() << " charged, " << booked() << " booked";
  }

  // A library that was built from fake_collectives.c, loaded while this lives.
  class Library {
   public:
    explicit Library(const std::string& name)
        : handle_(::dlopen(built("tests/collectives/" + name).c_str(), RTLD_NOW | RTLD_LOCAL)) {
      if (handle_ == nullptr) ADD_FAILURE() << ::dlerror();
    }
    ~Library() {
      if (handle_ != nullptr) ::dlclose(handle_);
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    CUdeviceptr plain(std::size_t bytes) const {
      CUdeviceptr made = 0;
      EXPECT_EQ(call<int(void*, CUdeviceptr*, std::size_t)>("fakePlain")(
                    reinterpret_cast<void*>(lookedUp<Cu::cuMemAlloc_v2>()), &made, bytes),
                0);
      return made;
    }
    CUdeviceptr async(std::size_t bytes, CUstream stream) const {
      CUdeviceptr made = 0;
      EXPECT_EQ(call<int(void*, CUdeviceptr*, std::size_t, CUstream)>("fakeAsync")(
                    reinterpret_cast<void*>(lookedUp<Cu::cuMemAllocAsync>()), &made, bytes, stream),
                0);
      return made;
    }
    Handle create(std::size_t bytes, const CUmemAllocationProp& props) const {
      Handle made = 0;
      EXPECT_EQ(call<int(void*, Handle*, std::size_t, const CUmemAllocationProp*)>("fakeCreate")(
                    reinterpret_cast<void*>(lookedUp<Cu::cuMemCreate>()), &made, bytes, &props),
                0);
      return made;
    }

   private:
    template <typename Function>
    Function* call(const char* name) const {
      return reinterpret_cast<Function*>(::dlsym(handle_, name));
    }

    void* handle_;
  };

  static bool toldOfCollectives() { return pinnedFor(PinReason::kCollectives); }
  static CUresult freed(CUdeviceptr block) { return cu<Cu::cuMemFree_v2>(block); }
};

// Loaded after the application's first allocation: it is noticed then.
TEST_F(CollectivesTest, PlainMemoryOfNccl_StaysWhileTenantsIsSwapped) {
  if (outside(swappable())) return;
  makeSwappable();
  const CUdeviceptr own = filled(4 * kUnit, 1);
  const Library nccl("libnccl.so.2");
  const CUdeviceptr later = filled(2 * kUnit, 2);
  EXPECT_FALSE(toldOfCollectives()) << "nothing was asked for by it";
  const CUdeviceptr theirs = nccl.plain(3 * kUnit);
  const CUdeviceptr small = nccl.plain(512);
  EXPECT_TRUE(toldOfCollectives());
  EXPECT_EQ(resident(), 6 * kUnit);
  const std::uint64_t native = booked(Charge::kPlain);
  EXPECT_GE(native, 3 * kUnit + 512);
  allow(0);
  ASSERT_TRUE(becomesResident(0));
  EXPECT_EQ(booked(Charge::kPlain), native);
  EXPECT_GE(pinned(), 3 * kUnit + 512);
  EXPECT_EQ(charged(), booked() + 6 * kUnit);
  allow(kEverything);
  EXPECT_TRUE(holds(own, 4 * kUnit, 1));
  EXPECT_TRUE(holds(later, 2 * kUnit, 2));
  for (const CUdeviceptr block : {own, later, theirs, small}) EXPECT_EQ(freed(block), CUDA_SUCCESS);
  EXPECT_EQ(booked(Charge::kPlain), 0u);
  EXPECT_EXACT();
}

TEST_F(CollectivesTest, HandlesCreatedByNccl_StayUntilReleased) {
  if (outside(swappable())) return;
  makeSwappable();
  const Library nccl("libnccl.so.2");
  const Handle own = create(2 * kUnit);
  const Handle theirs = nccl.create(3 * kUnit, memoryOf());
  EXPECT_TRUE(toldOfCollectives());
  const CUdeviceptr at = mapped(3 * kUnit, theirs);
  allow(0);
  EXPECT_TRUE(becomesResident(3 * kUnit));
  EXPECT_TRUE(staysResident(3 * kUnit));
  EXPECT_EQ(cu<Cu::cuMemUnmap>(at, std::size_t{3 * kUnit}), CUDA_SUCCESS);
  EXPECT_EQ(release(theirs), CUDA_SUCCESS);
  EXPECT_TRUE(becomesResident(0));
  allow(kEverything);
  EXPECT_EQ(release(own), CUDA_SUCCESS);
  expectExactSoon();
}

TEST_F(CollectivesTest, AsyncMemoryOfNccl_StaysResident) {
  if (outside(swappable())) return;
  makeSwappable();
  const Library nccl("libnccl.so.2");
  CUstream stream = nullptr;
  ASSERT_EQ(cu<Cu::cuStreamCreate>(&stream, 1u), CUDA_SUCCESS);
  CUdeviceptr own = 0;
  ASSERT_EQ(cu<Cu::cuMemAllocAsync>(&own, std::size_t{2 * kUnit}, stream), CUDA_SUCCESS);
  const CUdeviceptr theirs = nccl.async(3 * kUnit, stream);
  ASSERT_EQ(cu<Cu::cuStreamSynchronize>(stream), CUDA_SUCCESS);
  EXPECT_TRUE(toldOfCollectives());
  EXPECT_FALSE(pinnedFor(PinReason::kPool)) << "that is not why";
  const std::uint64_t native = booked(Charge::kPool);
  EXPECT_GE(native, 3 * kUnit);
  allow(0);
  EXPECT_TRUE(becomesResident(0));
  EXPECT_EQ(booked(Charge::kPool), native);
  allow(kEverything);
  for (const CUdeviceptr block : {own, theirs}) {
    EXPECT_EQ(cu<Cu::cuMemFreeAsync>(block, stream), CUDA_SUCCESS);
  }
  ASSERT_EQ(cu<Cu::cuStreamSynchronize>(stream), CUDA_SUCCESS);
  expectExactSoon();
}

TEST_F(CollectivesTest, LibraryWithSimilarName_MemorySwapped) {
  if (outside(swappable())) return;
  makeSwappable();
  const Library other("libncclnet.so.2");
  const CUdeviceptr block = other.plain(4 * kUnit);
  EXPECT_FALSE(toldOfCollectives());
  allow(0);
  EXPECT_TRUE(becomesResident(0));
  allow(kEverything);
  EXPECT_EQ(freed(block), CUDA_SUCCESS);
}

// Another library may be loaded where it was.
TEST_F(CollectivesTest, NcclUnloadedAndOtherLoaded_MemorySwapped) {
  if (outside(swappable())) return;
  makeSwappable();
  for (int round = 0; round < 3; ++round) {
    CUdeviceptr theirs = 0, others = 0;
    {
      const Library nccl("libnccl.so.2");
      theirs = nccl.plain(kUnit);
    }
    const Library other("libncclnet.so.2");
    others = other.plain(kUnit);
    EXPECT_EQ(resident(), kUnit) << "round " << round << ": what the other one has can leave";
    EXPECT_EQ(freed(theirs), CUDA_SUCCESS);
    EXPECT_EQ(freed(others), CUDA_SUCCESS);
  }
}

}  // namespace
}  // namespace divvy::interposer
