#include "pods/foreign_allocations.h"

#include <set>
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

Holders holdersOf(const std::vector<kubelet::PodDevices>& held, const std::vector<Device>& cards,
                  const std::set<std::string>& resources, const ForeignAllocations& ours) {
  Holders holders;
  for (const kubelet::PodDevices& one : held) {
    const bool given = ours.given(one.namespace_name, one.pod) &&
                       (resources.contains(one.resource) || ours.lodged(one));
    const std::set<std::string> shares = ours.cards(one.namespace_name, one.pod);
    const std::set<std::string> assigned = ours.assigned(one.namespace_name, one.pod);
    for (const std::string& id : one.ids) {
      for (const Device& card : cards) {
        const Unit unit = unitOf(id, card.info.uuid);
        if (unit == Unit::kOther || (unit == Unit::kOurs && given)) continue;
        const std::set<std::string>& said = unit == Unit::kReplica ? assigned : shares;
        for (const Device& other : cards) {
          const bool has = unit != Unit::kWhole && !said.empty() ? said.contains(other.info.uuid)
                                                                 : &other == &card;
          if (has)
            holders.try_emplace(other.info.index, "pod " + one.namespace_name + "/" + one.pod);
        }
      }
    }
  }
  return holders;
}

}  // namespace divvy::agent
