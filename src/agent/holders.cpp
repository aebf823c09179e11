#include "holders.h"

#include <string_view>

namespace divvy::agent {
namespace {

enum class Unit { kOther, kWhole, kOurs, kReplica };

Unit unitOf(std::string_view id, std::string_view uuid) {
  if (uuid.empty() || !id.starts_with(uuid)) return Unit::kOther;
  id.remove_prefix(uuid.size());
  if (id.empty()) return Unit::kWhole;
  if (id.starts_with("::")) return Unit::kOurs;
  return id.front() == '-' ? Unit::kReplica : Unit::kOther;
}

}  // namespace

Holders holdersOf(const std::vector<kubelet::HeldDevices>& held, const std::vector<Device>& cards,
                  const std::string& resource,
                  const std::function<bool(const std::string&, const std::string&)>& ours) {
  Holders holders;
  for (const kubelet::HeldDevices& one : held) {
    for (const std::string& id : one.ids) {
      for (const Device& card : cards) {
        const Unit unit = unitOf(id, card.info.uuid);
        if (unit == Unit::kOther) continue;
        const bool by_us =
            unit == Unit::kOurs && one.resource == resource && ours(one.space, one.pod);
        if (!by_us) holders.try_emplace(card.info.index, "pod " + one.space + "/" + one.pod);
      }
    }
  }
  return holders;
}

}  // namespace divvy::agent
