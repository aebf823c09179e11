// cuDevSmResourceSplit (CUDA Driver API, "Green Contexts"): groups of a device's SMs, each of its
// own size. Groups are filled in order. Simplified: any SMs can be co-scheduled, so that only their
// number decides; a card is one locality domain.
#include <algorithm>
#include <iterator>
#include <vector>

#include "cuda/context/api_prologue.h"

namespace divvy::simgpu {
namespace {

using GroupParams = CU_DEV_SM_RESOURCE_GROUP_PARAMS;

constexpr unsigned kLocality = CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_ID |
                               CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_SUPPLEMENTAL_SMS;

bool backfills(const GroupParams& wanted) {
  return (wanted.flags & CU_DEV_SM_RESOURCE_GROUP_BACKFILL) != 0;
}

CUresult check(const GroupParams& wanted, const CUdevSmResource& input) {
  const unsigned most = input.smCoscheduledAlignment > 2 ? 32 : 2;
  const bool known = (wanted.flags & ~(kLocality | CU_DEV_SM_RESOURCE_GROUP_BACKFILL)) == 0;
  const bool clear = std::all_of(std::begin(wanted.reserved), std::end(wanted.reserved),
                                 [](unsigned word) { return word == 0; });
  const unsigned together = wanted.coscheduledSmCount;
  if (!known || !clear || together > most || together % 2 != 0 || wanted.smCount % 2 != 0 ||
      wanted.smCount > input.smCount) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (together != 0 && wanted.smCount % together != 0 && !backfills(wanted)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool elsewhere = (wanted.flags & kLocality) != 0 && wanted.localityDomainId != 0 &&
                         wanted.localityDomainId != CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_ID_ANY;
  return elsewhere ? CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION : CUDA_SUCCESS;
}

// Takes the group's SMs from `left`. Returns 0 if there are none in this shape.
unsigned allotSms(const GroupParams& wanted, unsigned together, unsigned* left) {
  const unsigned possible = backfills(wanted) ? *left / 2 * 2 : *left / together * together;
  if (*left < together || wanted.smCount > possible) return 0;
  const unsigned got = wanted.smCount == 0 ? possible : wanted.smCount;
  if (got % together != 0 && !backfills(wanted)) return 0;
  *left -= got;
  return got;
}

CUresult split(CUdevResource* result, unsigned count, const CUdevResource& input,
               CUdevResource* rest, GroupParams* params) {
  if (input.type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  unsigned left = input.sm.smCount;
  std::vector<CUdevResource> groups(count, input);
  for (unsigned i = 0; i < count; ++i) {
    const CUresult fine = check(params[i], input.sm);
    if (fine != CUDA_SUCCESS) return fine;
    const unsigned together = params[i].coscheduledSmCount != 0 ? params[i].coscheduledSmCount
                                                                : input.sm.smCoscheduledAlignment;
    CUdevSmResource& group = groups[i].sm;
    group.smCount = allotSms(params[i], together, &left);
    group.smCoscheduledAlignment = together;
    group.flags = params[i].flags;
    // A query for the number may end with none.
    const bool asks = result == nullptr && params[i].smCount == 0;
    if (!asks && group.smCount < together) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  }
  for (unsigned i = 0; i < count; ++i) params[i].smCount = groups[i].sm.smCount;
  if (result != nullptr) std::copy(groups.begin(), groups.end(), result);
  if (rest == nullptr) return CUDA_SUCCESS;
  *rest = input;
  rest->sm.smCount = left;
  if (left == 0) rest->type = CU_DEV_RESOURCE_TYPE_INVALID;
  return CUDA_SUCCESS;
}

}  // namespace

SIMGPU_IMPL(cuDevSmResourceSplit)
(CUdevResource* result, unsigned count, const CUdevResource* input, CUdevResource* rest,
 unsigned flags, GroupParams* params) {
  return withDriver(Cu::cuDevSmResourceSplit, [&]() -> CUresult {
    if (count == 0 || input == nullptr || params == nullptr || flags != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return split(result, count, *input, rest, params);
  });
}

}  // namespace divvy::simgpu
