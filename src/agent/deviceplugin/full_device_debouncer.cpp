#include "deviceplugin/full_device_debouncer.h"

#include <utility>

namespace divvy::agent {
namespace {

// Those of `now` that have been there for so long.
std::set<std::string> lasting(const std::set<std::string>& now, std::uint64_t now_ms,
                              std::uint64_t long_enough,
                              std::map<std::string, std::uint64_t>* since) {
  std::erase_if(*since, [&](const auto& one) { return !now.contains(one.first); });
  std::set<std::string> found;
  for (const std::string& uuid : now) {
    const std::uint64_t begun = since->try_emplace(uuid, now_ms).first->second;
    if (now_ms - begun >= long_enough) found.insert(uuid);
  }
  return found;
}

}  // namespace

bool FullDeviceDebouncer::update(const std::set<std::string>& full,
                                 const std::set<std::string>& said, std::uint64_t now_ms) {
  std::set<std::string> closed = lasting(full, now_ms, kStaysMs, &full_since_);
  std::set<std::string> known;
  for (const std::string& uuid : closed)
    if (said.contains(uuid)) known.insert(uuid);
  std::set<std::string> withdrawn = lasting(known, now_ms, kKnownMs, &said_since_);
  const bool changed = closed != closed_ || withdrawn != withdrawn_;
  closed_ = std::move(closed);
  withdrawn_ = std::move(withdrawn);
  return changed;
}

}  // namespace divvy::agent
