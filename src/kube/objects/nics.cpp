#include "kube/nics.h"

#include <set>

#include "objects/bounded_amounts.h"

namespace divvy::kube {
namespace {

constexpr std::int64_t kMaxDistance = 1'000;

}  // namespace

std::string encode(const std::vector<Nic>& nics) {
  if (nics.empty()) return {};
  json::array list;
  for (const Nic& nic : nics) {
    json::object distances;
    for (const auto& [device, distance] : nic.distances) distances[device] = distance;
    list.push_back(json::object{{"name", nic.name}, {"distances", std::move(distances)}});
  }
  return json::serialize(list);
}

Result<std::vector<Nic>> decodeNics(std::string_view text) {
  boost::system::error_code fault;
  json::object wrapped;
  wrapped["nics"] = json::parse(json::string_view(text.data(), text.size()), fault);
  if (fault) return Error{ErrorCode::kCorrupt, "not JSON: " + fault.message()};
  const json::value whole = std::move(wrapped);
  Members members(whole, "");
  std::vector<Nic> nics;
  std::set<std::string> names;
  members.each("nics", [&](Members& from) {
    Nic nic;
    from.text("name", &nic.name);
    if (nic.name.empty() || !names.insert(nic.name).second) from.fail("name", "there, and once");
    from.in("distances", [&](Members& distances) {
      const json::value* found = from.find("distances");
      if (found == nullptr || !found->is_object()) return;
      for (const auto& [key, value] : found->get_object()) {
        const std::string device(key.data(), key.size());
        count(distances, device, kMaxDistance, &nic.distances[device]);
      }
    });
    nics.push_back(std::move(nic));
  });
  if (!members.ok()) return members.error();
  return nics;
}

}  // namespace divvy::kube
