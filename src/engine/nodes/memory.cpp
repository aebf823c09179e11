#include "engine/memory.h"

#include <algorithm>

namespace divvy::engine {
namespace {

Bytes times(Bytes bytes, std::uint32_t permille) {
  const auto product = static_cast<unsigned __int128>(bytes.count) * permille / 1000;
  return {product > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(product)};
}

// Memory that is never swapped cannot be in host memory.
bool mapsHost(const MemoryAccounts& books, const Part& part) {
  return books.terms.host_map && books.overcommitted() && part.floor < part.limit;
}

}  // namespace

Bytes MemoryAccounts::most() const {
  return (terms.budget.count == 0 ? physical : std::min(terms.budget, physical)) - margin();
}

Bytes MemoryAccounts::room() const {
  return std::min(most(), physical - terms.foreign - margin());
}

Part partOn(const MemoryAccounts& books, Bytes limit, std::optional<Bytes> guarantee,
            bool context_outside) {
  const Bytes outside = context_outside ? books.terms.context : Bytes{};
  if (!books.overcommitted()) return {limit, limit, outside};
  const Bytes asked = guarantee ? std::min(*guarantee, limit) : Bytes{};
  const Bytes inside = context_outside ? Bytes{} : std::min(books.terms.context, limit);
  return {limit, std::max(asked, inside), outside};
}

std::optional<MemoryRefusal> refuseEver(const MemoryAccounts& books, const Part& part,
                                        std::optional<Bytes> guarantee) {
  const bool maps = mapsHost(books, part);
  const Bytes reserve = part.reserve();
  const Bytes promised = times(books.most(), books.terms.overcommit_permille);
  if (maps && reserve > promised) return MemoryRefusal{DeviceWhy::kPromise, reserve, promised};
  if (!maps && reserve > books.physical)
    return MemoryRefusal{DeviceWhy::kTooLarge, reserve, books.physical};
  if (!maps && reserve > books.most())
    return MemoryRefusal{DeviceWhy::kBudget, reserve, books.most()};
  if (guarantee && *guarantee > part.limit)
    return MemoryRefusal{DeviceWhy::kGuaranteeAboveShare, *guarantee, part.limit};
  if (part.outside.count == 0 && part.limit < books.terms.context)
    return MemoryRefusal{DeviceWhy::kBelowContext, part.limit, books.terms.context};
  return std::nullopt;
}

std::optional<MemoryRefusal> refuseNow(const MemoryAccounts& books, const Part& part,
                                       Bytes host_left) {
  if (!books.overcommitted()) {
    if (part.reserve() <= books.free()) return std::nullopt;
    return MemoryRefusal{DeviceWhy::kMemory, part.reserve(), books.free()};
  }
  const Bytes room = books.room() - books.outside - part.outside;
  const Bytes limits = books.reserved - books.outside;
  if (!mapsHost(books, part) && part.limit > room - books.guaranteed)
    return MemoryRefusal{DeviceWhy::kBeside, part.limit, room - books.guaranteed};
  const Bytes promised = times(room, books.terms.overcommit_permille);
  if (part.limit > promised - limits)
    return MemoryRefusal{DeviceWhy::kOvercommit, part.limit, promised - limits};
  const Bytes stays = part.floor + part.outside;
  // A tenant that could never have all of its memory on the device keeps half of the device's,
  // besides memory that is never swapped.
  const Bytes half = {(books.room() - books.outside).count / 2};
  const Bytes largest = books.terms.host_map ? std::min(books.largest, half) : books.largest;
  const Bytes can_stay = books.room() - books.outside - books.guaranteed - largest;
  if (stays > can_stay) return MemoryRefusal{DeviceWhy::kGuarantee, stays, can_stay};
  const Bytes added = addedBeyond(books, part);
  if (added > host_left) return MemoryRefusal{DeviceWhy::kHostReserve, added, host_left};
  return std::nullopt;
}

MemoryAccounts with(const MemoryAccounts& books, const Part& part) {
  MemoryAccounts after = books;
  after.reserved = books.reserved + part.reserve();
  after.outside = books.outside + part.outside;
  after.guaranteed = books.guaranteed + part.floor;
  after.largest = std::max(books.largest, part.limit - part.floor);
  return after;
}

Bytes addedBeyond(const MemoryAccounts& books, const Part& part) {
  if (!books.overcommitted()) return {};
  return (books.reserved + part.reserve() - books.room()) - books.beyond();
}

}  // namespace divvy::engine
