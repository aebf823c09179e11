#include "loader/symbol_lookup.h"

#include "runtime.h"

namespace divvy::interposer {
namespace {

using abi::Cu;
using abi::StreamMode;

const abi::FamilyMember<Cu>* begin(const abi::Family& family) {
  return abi::kCuFamilyMembers + family.first;
}
const abi::FamilyMember<Cu>* end(const abi::Family& family) {
  return begin(family) + family.count;
}

bool perThread(cuuint64_t flags) {
  return (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
}

// The newest member of one mode that is not newer than `version`.
Cu newest(const abi::Family& family, int version, bool per_thread) {
  Cu chosen = Cu::kCount;
  int since = -1;
  for (const auto* member = begin(family); member != end(family); ++member) {
    if ((member->mode != StreamMode::kPlain) != per_thread) continue;
    if (member->since > version || member->since < since) continue;
    chosen = member->id;
    since = member->since;
  }
  return chosen;
}

}  // namespace

Cu chooseByList(const abi::Family& family, int version, cuuint64_t flags) {
  const Cu twin = perThread(flags) ? newest(family, version, true) : Cu::kCount;
  return twin != Cu::kCount ? twin : newest(family, version, false);
}

Cu identify(const abi::Family& family, int version, cuuint64_t flags, const void* address) {
  const Cu chosen = chooseByList(family, version, flags);
  Cu found = Cu::kCount;
  for (const auto* member = begin(family); member != end(family); ++member) {
    // A driver that is not linked symbolically resolves its own names to our exports.
    if (address != runtime().driver.symbol(member->id) &&
        address != abi::kCuExports[static_cast<unsigned>(member->id)]) {
      continue;
    }
    if (member->id == chosen) return chosen;
    if (found == Cu::kCount) found = member->id;
  }
  if (found != Cu::kCount) return found;
  return chosen != Cu::kCount ? chosen : begin(family)->id;
}

}  // namespace divvy::interposer
