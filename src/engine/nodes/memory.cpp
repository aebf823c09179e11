#include "engine/memory.h"

#include <algorithm>

namespace divvy::engine {
namespace {

Bytes times(Bytes bytes, std::uint32_t permille) {
  const auto product = static_cast<unsigned __int128>(bytes.count) * permille / 1000;
  return {product > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(product)};
}

// Memory that is never swapped cannot be in host memory.
bool mapsHost(const MemoryAccounts& accounts, const Part& part) {
  return accounts.terms.host_map && accounts.overcommitted() && part.floor < part.limit;
}

}  // namespace

Bytes MemoryAccounts::most() const {
  return (terms.budget.count == 0 ? physical : std::min(terms.budget, physical)) - margin();
}

Bytes MemoryAccounts::room() const {
  return std::min(most(), physical - terms.foreign - margin());
}

Part partOn(const MemoryAccounts& accounts, Bytes limit, std::optional<Bytes> guarantee,
            bool context_outside) {
  const Bytes outside = context_outside ? accounts.terms.context : Bytes{};
  if (!accounts.overcommitted()) return {limit, limit, outside};
  const Bytes asked = guarantee ? std::min(*guarantee, limit) : Bytes{};
  const Bytes inside = context_outside ? Bytes{} : std::min(accounts.terms.context, limit);
  return {limit, std::max(asked, inside), outside};
}

std::optional<MemoryRefusal> refuseEver(const MemoryAccounts& accounts, const Part& part,
                                        std::optional<Bytes> guarantee) {
  const bool maps = mapsHost(accounts, part);
  const Bytes reserve = part.reserve();
  const Bytes promised = times(accounts.most(), accounts.terms.overcommit_permille);
  if (maps && reserve > promised)
    return MemoryRefusal{DeviceWhy::kOverPromiseLimit, reserve, promised};
  if (!maps && reserve > accounts.physical)
    return MemoryRefusal{DeviceWhy::kTooLarge, reserve, accounts.physical};
  if (!maps && reserve > accounts.most())
    return MemoryRefusal{DeviceWhy::kBudget, reserve, accounts.most()};
  if (guarantee && *guarantee > part.limit)
    return MemoryRefusal{DeviceWhy::kGuaranteeAboveShare, *guarantee, part.limit};
  if (part.outside.count == 0 && part.limit < accounts.terms.context)
    return MemoryRefusal{DeviceWhy::kBelowContext, part.limit, accounts.terms.context};
  return std::nullopt;
}

std::optional<MemoryRefusal> refuseNow(const MemoryAccounts& accounts, const Part& part,
                                       Bytes host_left) {
  if (!accounts.overcommitted()) {
    if (part.reserve() <= accounts.free()) return std::nullopt;
    return MemoryRefusal{DeviceWhy::kMemory, part.reserve(), accounts.free()};
  }
  const Bytes room = accounts.room() - accounts.outside - part.outside;
  const Bytes limits = accounts.reserved - accounts.outside;
  if (!mapsHost(accounts, part) && part.limit > room - accounts.guaranteed)
    return MemoryRefusal{DeviceWhy::kGuaranteeConflict, part.limit, room - accounts.guaranteed};
  const Bytes promised = times(room, accounts.terms.overcommit_permille);
  if (part.limit > promised - limits)
    return MemoryRefusal{DeviceWhy::kOvercommit, part.limit, promised - limits};
  const Bytes stays = part.floor + part.outside;
  // A tenant that could never have all of its memory on the device keeps half of the device's,
  // besides memory that is never swapped.
  const Bytes half = {(accounts.room() - accounts.outside).count / 2};
  const Bytes largest =
      accounts.terms.host_map ? std::min(accounts.largest, half) : accounts.largest;
  const Bytes can_stay = accounts.room() - accounts.outside - accounts.guaranteed - largest;
  if (stays > can_stay) return MemoryRefusal{DeviceWhy::kGuarantee, stays, can_stay};
  const Bytes added = addedBeyond(accounts, part);
  if (added > host_left) return MemoryRefusal{DeviceWhy::kHostReserve, added, host_left};
  return std::nullopt;
}

MemoryAccounts with(const MemoryAccounts& accounts, const Part& part) {
  MemoryAccounts after = accounts;
  after.reserved = accounts.reserved + part.reserve();
  after.outside = accounts.outside + part.outside;
  after.guaranteed = accounts.guaranteed + part.floor;
  after.largest = std::max(accounts.largest, part.limit - part.floor);
  return after;
}

Bytes addedBeyond(const MemoryAccounts& accounts, const Part& part) {
  if (!accounts.overcommitted()) return {};
  return (accounts.reserved + part.reserve() - accounts.room()) - accounts.beyond();
}

}  // namespace divvy::engine
