// What is answered about memory that is made by handles and can be swapped is what the driver
// answers of memory that it keeps.
#include "vmm_fixture.h"

namespace divvy::interposer {
namespace {

// What was answered, as text.
class Answers {
 public:
  void note(const char* what, long long value) {
    text_ += std::string(what) + " " + std::to_string(value) + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class VmmAnswersTest : public VmmSwapTest {
 protected:
  static void mistakes(Answers& told, CUdeviceptr at, Handle handle) {
    told.note("unaligned", map(at + 4096, kUnit, handle));
    told.note("size", map(at, kUnit + 4096, handle));
    told.note("none", map(at, 0, handle));
    told.note("offset", map(at, kUnit, handle, kUnit));
    told.note("too large", map(at, 3 * kUnit, handle));
    told.note("beyond", map(at + 7 * kUnit, 2 * kUnit, handle));
    told.note("not reserved", map(64 * kUnit, kUnit, handle));
    told.note("flags", cu<Cu::cuMemMap>(at, std::size_t{kUnit}, std::size_t{0}, handle, 1ull));
    told.note("no handle", map(at, kUnit, handle + 0x7000000));
  }
  static void mappings(Answers& told, CUdeviceptr at, Handle handle) {
    told.note("map", map(at + kUnit, 2 * kUnit, handle));
    told.note("mapped", map(at + 2 * kUnit, kUnit, handle));
    told.note("in part", map(at, 2 * kUnit, handle));
    told.note("the beginning", map(at, kUnit, handle));
    told.note("free", cu<Cu::cuMemAddressFree>(at, std::size_t{8 * kUnit}));
    told.note("part", unmap(at + kUnit, kUnit));
    told.note("gap", unmap(at, 4 * kUnit));
  }
  static void access(Answers& told, CUdeviceptr at) {
    const CUmemAccessDesc* const none = nullptr;
    told.note("access to part", open(at + kUnit, kUnit));
    told.note("access and gap", open(at, 4 * kUnit));
    told.note("no such access", open(at, 3 * kUnit, 2));
    told.note("no such device", open(at, 3 * kUnit, kWrite, 5));
    told.note("flags", accessOf(at));
    told.note("access", open(at, 3 * kUnit, kRead));
    told.note("flags", accessOf(at + kUnit + 7));
    told.note("nothing", cu<Cu::cuMemSetAccess>(at, std::size_t{kUnit}, none, std::size_t{1}));
  }
  static void views(Answers& told, CUdeviceptr at) {
    CUdeviceptr base = 0;
    std::size_t bytes = 0;
    told.note("range", cu<Cu::cuMemGetAddressRange_v2>(&base, &bytes, at + 2 * kUnit + 9));
    told.note("base", static_cast<long long>(base - at));
    told.note("bytes", static_cast<long long>(bytes));
    for (unsigned attribute = 1; attribute < 24; ++attribute) {
      std::uint64_t value = 0x5a5a'5a5a'5a5a'5a5a;
      told.note("attribute", attribute);
      told.note("is",
                cu<Cu::cuPointerGetAttribute>(static_cast<void*>(&value),
                                              CUpointer_attribute(attribute), at + kUnit + 8));
      if (value - at < 8 * kUnit) value -= at;
      if (attribute == CU_POINTER_ATTRIBUTE_BUFFER_ID ||
          attribute == CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID) {
        value = value != 0 ? 1 : 0;
      }
      told.note("value", static_cast<long long>(value));
    }
  }
  static void endings(Answers& told, CUdeviceptr at, Handle handle) {
    CUmemAllocationProp back{};
    told.note("properties", cu<Cu::cuMemGetAllocationPropertiesFromHandle>(&back, handle));
    told.note("types", back.requestedHandleTypes);
    told.note("device", back.location.id);
    told.note("plain free", cu<Cu::cuMemFree_v2>(at));
    told.note("release", release(handle));
    told.note("twice", release(handle));
    told.note("gone", map(at + 4 * kUnit, kUnit, handle));
    told.note("unknown", cu<Cu::cuMemGetAllocationPropertiesFromHandle>(&back, handle));
    told.note("unmap", unmap(at, 3 * kUnit));
    told.note("unmapped", unmap(at, 3 * kUnit));
    told.note("free", cu<Cu::cuMemAddressFree>(at, std::size_t{8 * kUnit}));
  }
  static std::string askAbout(const CUmemAllocationProp& prop, bool away) {
    const Handle handle = create(2 * kUnit, prop);
    const CUdeviceptr at = addresses(8 * kUnit);
    if (away) {
      EXPECT_TRUE(eventually([] {
        allow(0);  // beside what is shown as pinned, which may be too much for a moment
        return shown()->device[0].mapped == 0;
      }));
    }
    Answers told;
    mistakes(told, at, handle);
    mappings(told, at, handle);
    access(told, at);
    views(told, at);
    endings(told, at, handle);
    if (away) allow(kEverything);
    return told.text();
  }
};

TEST_F(VmmAnswersTest, ResidentOrSwappedOut_EveryAnswerAsDriver) {
  if (outside(swappable())) return;
  makeSwappable();
  const std::string drivers = askAbout(staying(), false);
  EXPECT_EQ(askAbout(memoryOf(), false), drivers);
  filled(kUnit, 13);
  EXPECT_EQ(askAbout(memoryOf(), true), drivers) << "while it is away";
}

TEST_F(VmmAnswersTest, NativeAndSwappableInOneRange_Independent) {
  if (outside(swappable())) return;
  makeSwappable();
  const std::uint64_t before = charged();
  const Handle ours = create(kUnit), theirs = create(kUnit, staying());
  const CUdeviceptr at = addresses(3 * kUnit);
  ASSERT_EQ(map(at, kUnit, theirs), CUDA_SUCCESS);
  ASSERT_EQ(map(at + kUnit, kUnit, ours), CUDA_SUCCESS);
  ASSERT_EQ(map(at + 2 * kUnit, kUnit, theirs), CUDA_SUCCESS);
  ASSERT_EQ(open(at, 3 * kUnit), CUDA_SUCCESS);
  ASSERT_EQ(write(at, 2 * kUnit, 14), CUDA_SUCCESS);
  allow(0);
  ASSERT_TRUE(becomesResident(kUnit));
  EXPECT_EQ(map(at + kUnit, kUnit, theirs), CUDA_ERROR_INVALID_VALUE) << "it is mapped, if away";
  EXPECT_EQ(map(at, kUnit, ours), CUDA_ERROR_INVALID_VALUE);
  allow(kEverything);
  EXPECT_TRUE(holds(at, 2 * kUnit, 14));
  EXPECT_EQ(unmap(at, 3 * kUnit), CUDA_SUCCESS);
  EXPECT_EQ(unmap(at, kUnit), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(release(ours), CUDA_SUCCESS);
  EXPECT_EQ(release(theirs), CUDA_SUCCESS);
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

}  // namespace
}  // namespace divvy::interposer
