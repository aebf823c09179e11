#include "kube/registration.h"

#include <algorithm>
#include <map>

#include "objects/bounded_amounts.h"
#include "objects/members.h"
#include "objects/split.h"

namespace divvy::kube {
namespace {

constexpr std::size_t kShortFields = 7;
constexpr std::size_t kLongFields = 9;

RegisteredProfile profileOf(Members& from) {
  RegisteredProfile profile;
  from.text("name", &profile.name);
  count(from, "memoryMB", kMaxMebibytes, &profile.mebibytes);
  count(from, "core", kMaxCores, &profile.cores);
  count(from, "sliceCount", kMaxCount, &profile.slices);
  from.each("placements", [&](Members& one) {
    RegisteredPlace& place = profile.places.emplace_back();
    count(one, "start", kMaxCount, &place.start);
    count(one, "size", kMaxCount, &place.size);
  });
  return profile;
}

// Devices of one network are linked with each other. Where dies are given out, dies of one board
// are. Source: facts on the incumbent's control plane, 2.1 and 3. Boards are numbered in order of
// appearance.
void readZone(Members& from, std::map<std::string, std::uint32_t>* boards, std::uint32_t* zone) {
  // The vendor's own data may have any form; an unexpected form means no zone, and is not an error.
  const json::value* info = from.find("custominfo");
  if (info == nullptr || !info->is_object()) return;
  boost::system::error_code fault;
  const auto member = [&](const char* name) { return info->get_object().if_contains(name); };
  const json::value* network = member("NetworkID");
  const auto id = network == nullptr || !network->is_number()
                      ? std::int64_t{-1}
                      : network->to_number<std::int64_t>(fault);
  if (!fault && id >= 0)
    *zone = 1 + static_cast<std::uint32_t>(std::min<std::int64_t>(id, kMaxCount));
  const json::value* board = member("AIC");
  const json::value* strategy = member("DeviceStrategy");
  if (board == nullptr || !board->is_string() || board->get_string().empty()) return;
  if (strategy != nullptr && strategy->is_string() && strategy->get_string() != "die") return;
  const auto next = static_cast<std::uint32_t>(boards->size() + 1);
  *zone = boards->try_emplace(std::string(board->get_string()), next).first->second;
}

RegisteredDevice deviceOf(Members& from) {
  RegisteredDevice device;
  from.text("id", &device.id);
  if (device.id.empty()) from.fail("id", "there");
  count(from, "index", kMaxCount, &device.index);
  count(from, "count", kMaxCount, &device.count);
  count(from, "devmem", kMaxMebibytes, &device.mebibytes);
  count(from, "devcore", kMaxCores, &device.cores);
  from.text("type", &device.type);
  count(from, "numa", kMaxCount, &device.numa);
  from.text("mode", &device.mode);
  from.text("devicevendor", &device.vendor);
  from.flag("health", &device.healthy);
  from.each("migProfiles", [&](Members& one) { device.profiles.push_back(profileOf(one)); });
  return device;
}

template <typename T>
void put(json::object* into, const char* name, const T& value) {
  if (value != T{}) (*into)[name] = value;
}

json::object profile(const RegisteredProfile& from) {
  json::object object;
  put(&object, "name", from.name);
  put(&object, "memoryMB", from.mebibytes);
  put(&object, "core", from.cores);
  put(&object, "sliceCount", from.slices);
  json::array places;
  for (const RegisteredPlace& one : from.places)
    places.push_back(json::object{{"start", one.start}, {"size", one.size}});
  if (!places.empty()) object["placements"] = std::move(places);
  return object;
}

}  // namespace

std::string profileIn(std::string_view type) {
  constexpr std::string_view kInstance = " MIG ";
  const std::size_t at = type.rfind(kInstance);
  if (at == std::string_view::npos) return {};
  std::string profile(type.substr(at + kInstance.size()));
  std::replace(profile.begin(), profile.end(), '+', '.');
  return profile;
}

std::string encode(const std::vector<RegisteredDevice>& devices) {
  json::array list;
  for (const RegisteredDevice& device : devices) {
    json::object object;
    put(&object, "id", device.id);
    put(&object, "index", device.index);
    put(&object, "count", device.count);
    put(&object, "devmem", device.mebibytes);
    put(&object, "devcore", device.cores);
    put(&object, "type", device.type);
    put(&object, "numa", device.numa);
    put(&object, "mode", device.mode);
    json::array profiles;
    for (const RegisteredProfile& one : device.profiles) profiles.push_back(profile(one));
    if (!profiles.empty()) object["migProfiles"] = std::move(profiles);
    put(&object, "health", device.healthy);
    put(&object, "devicevendor", device.vendor);
    list.push_back(std::move(object));
  }
  return json::serialize(list);
}

Result<std::vector<RegisteredDevice>> decodeRegistration(std::string_view text) {
  boost::system::error_code fault;
  json::object wrapped;
  wrapped["devices"] = json::parse(json::string_view(text.data(), text.size()), fault);
  if (fault) return Error{ErrorCode::kCorrupt, "not JSON: " + fault.message()};
  const json::value whole = std::move(wrapped);
  Members members(whole, "");
  std::vector<RegisteredDevice> devices;
  std::map<std::string, std::uint32_t> boards;
  members.each("devices", [&](Members& one) {
    devices.push_back(deviceOf(one));
    readZone(one, &boards, &devices.back().zone);
  });
  if (!members.ok()) return members.error();
  return devices;
}

Result<std::vector<RegisteredDevice>> decodeRegistrationList(std::string_view text) {
  const auto parts = ended(text, ':');
  if (!parts) return Error{ErrorCode::kCorrupt, "no ':' at the end"};
  std::vector<RegisteredDevice> devices;
  for (const std::string_view part : *parts) {
    const auto wrong = [&](const std::string& what) {
      return Error{ErrorCode::kCorrupt, "device " + std::to_string(devices.size()) + ": " + what};
    };
    const std::vector<std::string_view> fields = split(part, ',');
    if (fields.size() != kShortFields && fields.size() != kLongFields)
      return wrong("expected 7 or 9 fields, not " + std::to_string(fields.size()));
    const auto number = [&](std::size_t at, std::int64_t most) {
      const auto value = wholeOf(fields[at]);
      return value && *value <= static_cast<std::uint64_t>(most) ? value : std::nullopt;
    };
    const auto slots = number(1, kMaxCount), memory = number(2, kMaxMebibytes);
    const auto cores = number(3, kMaxCores), numa = number(5, kMaxCount);
    if (fields[0].empty()) return wrong("no id");
    if (!slots || !memory || !cores || !numa)
      return wrong("count, memory, cores and NUMA node are whole numbers");
    if (fields[6] != "true" && fields[6] != "false") return wrong("health is true or false");
    RegisteredDevice device;
    device.id = fields[0];
    device.count = static_cast<std::uint32_t>(*slots);
    device.mebibytes = *memory;
    device.cores = static_cast<std::uint32_t>(*cores);
    device.type = fields[4];
    device.numa = static_cast<std::uint32_t>(*numa);
    device.healthy = fields[6] == "true";
    if (fields.size() == kLongFields) {
      const auto index = number(7, kMaxCount);
      if (!index) return wrong("index is a whole number");
      device.index = static_cast<std::uint32_t>(*index);
      device.mode = fields[8];
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace divvy::kube
