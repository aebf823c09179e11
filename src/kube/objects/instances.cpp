#include "kube/instances.h"

#include <set>

#include "objects/members.h"

namespace divvy::kube {
namespace {

constexpr std::int64_t kMaxContainers = 10'000;
constexpr std::int64_t kMaxSlices = 16;

template <typename T>
void count(Members& from, std::string_view name, std::int64_t most, T* out) {
  std::int64_t value = 0;
  from.number(name, &value);
  if (value < 0 || value > most)
    return from.fail(name, "a whole number from 0 to " + std::to_string(most));
  *out = static_cast<T>(value);
}

}  // namespace

std::string encode(const std::vector<AssignedInstance>& instances) {
  json::array list;
  for (const AssignedInstance& one : instances)
    list.push_back(json::object{{"containerIndex", one.container},
                                {"deviceIndex", one.device},
                                {"gpuUUID", one.uuid},
                                {"profile", one.profile},
                                {"placement", {{"start", one.start}, {"size", one.size}}}});
  return json::serialize(list);
}

Result<std::vector<AssignedInstance>> decodeInstances(std::string_view text) {
  boost::system::error_code fault;
  json::object wrapped;
  wrapped["instances"] = json::parse(json::string_view(text.data(), text.size()), fault);
  if (fault) return Error{ErrorCode::kCorrupt, "not JSON: " + fault.message()};
  const json::value whole = std::move(wrapped);
  Members members(whole, "");
  std::vector<AssignedInstance> instances;
  std::set<std::pair<std::size_t, std::size_t>> seen;
  members.each("instances", [&](Members& from) {
    AssignedInstance one;
    count(from, "containerIndex", kMaxContainers, &one.container);
    count(from, "deviceIndex", kMaxContainers, &one.device);
    from.text("gpuUUID", &one.uuid);
    from.text("profile", &one.profile);
    from.in("placement", [&](Members& place) {
      count(place, "start", kMaxSlices - 1, &one.start);
      count(place, "size", kMaxSlices - one.start, &one.size);
    });
    if (one.size == 0) from.fail("placement", "one with a size");
    if (!seen.insert({one.container, one.device}).second)
      from.fail("deviceIndex", "another one than before");
    instances.push_back(std::move(one));
  });
  if (!members.ok()) return members.error();
  return instances;
}

}  // namespace divvy::kube
