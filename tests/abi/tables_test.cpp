// The generated tables and the searches over them.
#include <cstring>
#include <set>
#include <string>

#include "abi/cuda_entries.h"
#include "abi/nvml_entries.h"
#include "gtest/gtest.h"

namespace divvy::abi {
namespace {

// What cuGetProcAddress must choose: the newest member not above `version` in `mode`.
Cu newest(const char* base, unsigned version, StreamMode mode) {
  const Family* family = findCuFamily(base);
  Cu found = Cu::kCount;
  for (unsigned i = 0; family && i < family->count; ++i) {
    const auto& member = kCuFamilyMembers[family->first + i];
    if (member.mode == mode && member.since <= version) found = member.id;
  }
  return found;
}

static_assert(findCuSymbol("cuMemAlloc_v2") == Cu::cuMemAlloc_v2);
static_assert(findNvSymbol("nvmlInit_v2") == Nv::nvmlInit_v2);
static_assert(entryOf(Cu::cuLaunchKernel_ptsz).mode == StreamMode::kPtsz);

TEST(Tables, EachSymbol_IsFound) {
  for (unsigned id = 0; id < kCuCount; ++id) {
    EXPECT_EQ(findCuSymbol(kCuEntries[id].symbol), static_cast<Cu>(id));
  }
  for (unsigned id = 0; id < kNvCount; ++id) {
    EXPECT_EQ(findNvSymbol(kNvEntries[id].symbol), static_cast<Nv>(id));
  }
}

TEST(Tables, UnknownName_IsNotFound) {
  for (const char* name : {"", "cu", "cuMemAlloc_v", "cuMemAlloc_v22", "zz", "\xff"}) {
    EXPECT_EQ(findCuSymbol(name), Cu::kCount) << name;
    EXPECT_EQ(findNvSymbol(name), Nv::kCount) << name;
    EXPECT_EQ(findCuFamily(name), nullptr) << name;
  }
}

TEST(Tables, EachSymbol_InFamilyOfItsBase) {
  for (unsigned id = 0; id < kCuCount; ++id) {
    const char* base = kCuFamilies[kCuEntries[id].family].base;
    const Family* family = findCuFamily(base);
    ASSERT_NE(family, nullptr) << base;
    bool found = false;
    for (unsigned i = 0; i < family->count; ++i) {
      found |= kCuFamilyMembers[family->first + i].id == static_cast<Cu>(id);
    }
    EXPECT_TRUE(found) << kCuEntries[id].symbol;
  }
}

TEST(Tables, Families_SortedByModeThenSince) {
  const char* before = "";
  for (const Family& family : kCuFamilies) {
    EXPECT_LT(std::strcmp(before, family.base), 0) << family.base;
    before = family.base;
    for (unsigned i = 1; i < family.count; ++i) {
      const auto& a = kCuFamilyMembers[family.first + i - 1];
      const auto& b = kCuFamilyMembers[family.first + i];
      EXPECT_TRUE(a.mode < b.mode || (a.mode == b.mode && a.since <= b.since)) << family.base;
    }
  }
}

TEST(Tables, AskedVersion_DecidesWithinFamily) {
  EXPECT_EQ(newest("cuMemAlloc", 3010, StreamMode::kPlain), Cu::cuMemAlloc);
  EXPECT_EQ(newest("cuMemAlloc", 11040, StreamMode::kPlain), Cu::cuMemAlloc_v2);
  EXPECT_EQ(newest("cuCtxCreate", 11030, StreamMode::kPlain), Cu::cuCtxCreate_v2);
  EXPECT_EQ(newest("cuCtxCreate", 13000, StreamMode::kPlain), Cu::cuCtxCreate_v4);
  EXPECT_EQ(newest("cuMemcpyHtoD", 12000, StreamMode::kPtds), Cu::cuMemcpyHtoD_v2_ptds);
  EXPECT_EQ(newest("cuLaunchKernel", 12000, StreamMode::kPtsz), Cu::cuLaunchKernel_ptsz);
  EXPECT_EQ(newest("cuMemAdvise", 12010, StreamMode::kPlain), Cu::cuMemAdvise);
  EXPECT_EQ(newest("cuMemAdvise", 12020, StreamMode::kPlain), Cu::cuMemAdvise_v2);
}

TEST(Tables, GraphInstantiate_WithFlagsFromCuda12) {
  EXPECT_EQ(newest("cuGraphInstantiate", 11080, StreamMode::kPlain), Cu::cuGraphInstantiate_v2);
  EXPECT_EQ(newest("cuGraphInstantiate", 12000, StreamMode::kPlain),
            Cu::cuGraphInstantiateWithFlags);
}

TEST(Tables, Classes_HaveUniqueNames) {
  std::set<std::string> names(std::begin(kClassNames), std::end(kClassNames));
  EXPECT_EQ(names.size(), static_cast<unsigned>(Class::kCount));
  EXPECT_STREQ(kClassNames[static_cast<unsigned>(entryOf(Cu::cuLaunchKernel).cls)], "launch");
}

}  // namespace
}  // namespace divvy::abi
