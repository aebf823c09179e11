#include "kube/device_scores.h"

#include <algorithm>
#include <charconv>

#include "objects/bounded_amounts.h"

namespace divvy::kube {
namespace {

constexpr std::int64_t kMaxScore = 1 << 20;

constexpr std::uint32_t kMaxDevices = 1024;

}  // namespace

std::string encode(const DeviceScores& scores, const std::vector<std::string>& uuids) {
  if (uuids.size() < 2) return {};
  json::array list;
  for (const std::string& uuid : uuids) {
    json::object to;
    for (const std::string& other : uuids) {
      const auto score = scores.find(std::minmax(uuid, other));
      if (score != scores.end()) to[other] = score->second;
    }
    list.push_back(json::object{{"uuid", uuid}, {"score", std::move(to)}});
  }
  return json::serialize(list);
}

Result<DeviceScores> decodeScores(std::string_view text) {
  boost::system::error_code fault;
  json::object wrapped;
  wrapped["devices"] = json::parse(json::string_view(text.data(), text.size()), fault);
  if (fault) return Error{ErrorCode::kCorrupt, "not JSON: " + fault.message()};
  const json::value whole = std::move(wrapped);
  Members members(whole, "");
  DeviceScores one_way;  // from the first device to the second
  members.each("devices", [&](Members& from) {
    std::string uuid;
    from.text("uuid", &uuid);
    if (uuid.empty()) from.fail("uuid", "there");
    from.in("score", [&](Members& scores) {
      const json::value* found = from.find("score");
      if (found == nullptr || !found->is_object()) return;
      for (const auto& [name, value] : found->get_object()) {
        std::uint32_t score = 0;
        count(scores, std::string_view(name.data(), name.size()), kMaxScore, &score);
        one_way[{uuid, std::string(name)}] = score;
      }
    });
  });
  if (!members.ok()) return members.error();
  DeviceScores both;
  for (const auto& [pair, score] : one_way) {
    const auto back = one_way.find({pair.second, pair.first});
    if (pair.first >= pair.second || back == one_way.end()) continue;
    if (const std::uint32_t lower = std::min(score, back->second); lower > 0) both[pair] = lower;
  }
  return both;
}

Result<CountScores> decodeCountScores(std::string_view text) {
  boost::system::error_code fault;
  const json::value whole = json::parse(json::string_view(text.data(), text.size()), fault);
  if (fault) return Error{ErrorCode::kCorrupt, "not JSON: " + fault.message()};
  if (!whole.is_object()) return Error{ErrorCode::kCorrupt, "expected an object"};
  Members members(whole, "");
  CountScores scores;
  for (const auto& [key, value] : whole.get_object()) {
    const std::string_view name(key.data(), key.size());
    std::uint32_t devices = 0, score = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), devices);
    if (read.ec != std::errc() || read.ptr != name.data() + name.size() || devices == 0 ||
        devices > kMaxDevices) {
      members.fail(name, "a number of devices");
      continue;
    }
    count(members, name, kMaxScore, &score);
    scores[devices] = score;
  }
  if (!members.ok()) return members.error();
  return scores;
}

}  // namespace divvy::kube
