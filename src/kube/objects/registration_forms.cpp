// Forms of registration that single vendors' agents write.
#include <algorithm>
#include <tuple>

#include "kube/registration.h"
#include "objects/bounded_amounts.h"
#include "objects/members.h"
#include "objects/split.h"

namespace divvy::kube {
namespace {

constexpr std::uint64_t kMaxGibibytes = 1 << 16;
constexpr std::uint64_t kMaxSlices = 1000;

// A number, or a number as text.
std::uint32_t looseCount(Members& from, std::string_view name) {
  const json::value* found = from.find(name);
  std::uint32_t value = 0;
  if (found == nullptr || !found->is_string()) {
    count(from, name, kMaxCount, &value);
    return value;
  }
  const json::string& text = found->get_string();
  const auto whole = wholeOf({text.data(), text.size()});
  if (!whole || *whole > static_cast<std::uint64_t>(kMaxCount))
    from.fail(name, "a whole number up to " + std::to_string(kMaxCount));
  return static_cast<std::uint32_t>(whole.value_or(0));
}

// "3g.20gb".
std::optional<RegisteredProfile> profileOf(const std::string& name, const std::string& id) {
  const std::size_t dot = name.find("g.");
  if (dot == std::string::npos || name.size() < dot + 5 || name.substr(name.size() - 2) != "gb")
    return std::nullopt;
  const auto size = wholeOf(std::string_view(name).substr(0, dot));
  const auto memory = wholeOf(std::string_view(name).substr(dot + 2, name.size() - dot - 4));
  if (!size || *size == 0 || *size > kMaxSlices || !memory || *memory == 0 ||
      *memory > kMaxGibibytes)
    return std::nullopt;
  RegisteredProfile profile;
  profile.name = name;
  profile.id = id;
  profile.slices = static_cast<std::uint32_t>(*size);
  profile.mebibytes = *memory << 10;
  return profile;
}

Result<json::value> parse(std::string_view text) {
  boost::system::error_code fault;
  json::value parsed = json::parse(json::string_view(text.data(), text.size()), fault);
  if (fault) return Error{ErrorCode::kCorrupt, "not JSON: " + fault.message()};
  return parsed;
}

}  // namespace

Result<std::vector<RegisteredDevice>> decodeRegistrationMetax(std::string_view text) {
  Result<json::value> parsed = parse(text);
  if (!parsed) return parsed.error();
  const json::value whole = json::object{{"devices", std::move(*parsed)}};
  Members members(whole, "");
  std::vector<RegisteredDevice> devices;
  members.each("devices", [&](Members& from) {
    RegisteredDevice device;
    from.text("uuid", &device.id);
    if (device.id.empty()) from.fail("uuid", "there");
    device.index = static_cast<std::uint32_t>(devices.size());
    from.text("model", &device.type);
    count(from, "totalDevCount", kMaxCount, &device.count);
    count(from, "totalCompute", kMaxCores, &device.cores);
    count(from, "totalVRam", kMaxMebibytes, &device.mebibytes);
    count(from, "numa", kMaxCount, &device.numa);
    // 0 and less: no zone.
    std::int64_t zone = 0;
    from.number("linkZone", &zone);
    device.zone = static_cast<std::uint32_t>(std::clamp<std::int64_t>(zone, 0, kMaxCount));
    from.flag("healthy", &device.healthy);
    devices.push_back(std::move(device));
  });
  if (!members.ok()) return members.error();
  return devices;
}

Result<std::vector<RegisteredDevice>> decodeRegistrationDrs(std::string_view text) {
  const Result<json::value> parsed = parse(text);
  if (!parsed) return parsed.error();
  Members members(*parsed, "");
  std::map<std::string, std::string> named;
  members.texts("profiles", &named);
  std::vector<RegisteredProfile> profiles;
  for (const auto& [name, id] : named) {
    const auto profile = profileOf(name, id);
    if (!profile)
      return Error{ErrorCode::kCorrupt, ".profiles: \"" + name + "\" is not as 3g.20gb"};
    profiles.push_back(*profile);
  }
  if (profiles.empty() && members.ok())
    return Error{ErrorCode::kCorrupt, ".profiles: there is none"};
  const auto order = [](const RegisteredProfile& a, const RegisteredProfile& b) {
    return std::tuple(a.mebibytes, a.slices, a.name) < std::tuple(b.mebibytes, b.slices, b.name);
  };
  std::sort(profiles.begin(), profiles.end(), order);
  std::uint32_t slices = 0;
  for (const RegisteredProfile& one : profiles) slices = std::max(slices, one.slices);
  for (RegisteredProfile& one : profiles) one.cores = (one.slices * 100 + slices - 1) / slices;
  std::vector<RegisteredDevice> devices;
  members.each("devices", [&](Members& from) {
    RegisteredDevice device;
    device.index = looseCount(from, "index");
    device.count = looseCount(from, "capacity");
    device.minor = std::to_string(device.index);
    from.text("minor", &device.minor);
    device.mebibytes = profiles.back().mebibytes;
    device.cores = 100;
    device.healthy = true;
    device.profiles = profiles;
    devices.push_back(std::move(device));
  });
  if (!members.ok()) return members.error();
  return devices;
}

}  // namespace divvy::kube
