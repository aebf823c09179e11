#include "rows/workload_key.h"

#include <array>
#include <cstdint>
#include <cstdio>

#include <boost/json.hpp>

namespace divvy::console {
namespace {

constexpr std::size_t kMaxObject = 128;
// A namespace has up to 63 bytes.
constexpr std::size_t kStart = 100;

// FNV-1a.
std::uint64_t hashOf(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char one : text) {
    hash ^= static_cast<unsigned char>(one);
    hash *= 0x100000001b3;
  }
  return hash;
}

}  // namespace

std::string clusterWorkloadKey(const ListRow& share) {
  std::string key;
  for (const char* member : {"namespace", "owner", "container"}) {
    const boost::json::value& part = share.at(member);
    if (!key.empty()) key += '/';
    if (part.is_string()) key += part.get_string();
  }
  return key;
}

std::string localWorkloadKey(std::string_view name, std::string_view tenant) {
  return std::string(name.empty() ? tenant : name);
}

std::string workloadObject(const std::string& key) {
  if (key.size() <= kMaxObject) return key;
  std::array<char, 20> hash{};
  std::snprintf(hash.data(), hash.size(), "#%016llx", static_cast<unsigned long long>(hashOf(key)));
  return key.substr(0, kStart) + hash.data();
}

}  // namespace divvy::console
