#include "device/device_health.h"

#include <algorithm>
#include <array>
#include <utility>

namespace divvy::agent {

namespace {

using Whom = std::map<unsigned, std::string>;

// Returns true if the set of devices changed.
bool replaceBy(Whom now, Whom* at) {
  const Whom before = std::exchange(*at, std::move(now));
  const auto differs = [](const Whom& all, const Whom& from) {
    return std::any_of(all.begin(), all.end(),
                       [&](const auto& one) { return !from.contains(one.first); });
  };
  return differs(before, *at) || differs(*at, before);
}

std::string wordsOf(const KnownFault& fault) {
  const std::string xid = "Xid " + std::to_string(fault.xid);
  if (fault.until_s == 0) return xid;
  return xid + " while no agent ran, " + spanWords(fault.from_s, fault.until_s);
}

}  // namespace

bool isProgramsOwn(std::uint64_t xid) {
  constexpr std::array<std::uint64_t, 6> kOfPrograms{13, 31, 43, 45, 68, 109};
  return std::find(kOfPrograms.begin(), kOfPrograms.end(), xid) != kOfPrograms.end();
}

bool DeviceHealth::observe(const DriverHealth& said, std::uint64_t now_ms) {
  std::map<unsigned, std::string> before;
  for (const auto& [index, answers] : said.answers) before[index] = why(index);
  for (const driver::DeviceFault& fault : said.faults) {
    Card& card = cards_[fault.index];
    ++card.faults[fault.xid];
    before.try_emplace(fault.index, why(fault.index));
    if (isProgramsOwn(fault.xid)) continue;
    card.fault = {fault.xid, now_ms};
  }
  for (const auto& [index, answers] : said.answers) {
    Card& card = cards_[index];
    card.answers = answers;
    // A device that does not answer is not free of faults.
    if (!answers && card.fault.xid != 0) card.fault.since_ms = now_ms;
    if (card.fault.xid != 0 && now_ms - card.fault.since_ms >= quiet_ms_) card.fault = {};
  }
  return std::any_of(before.begin(), before.end(),
                     [&](const auto& one) { return one.second.empty() != good(one.first); });
}

bool DeviceHealth::held(std::map<unsigned, std::string> holders) {
  return replaceBy(std::move(holders), &holders_);
}

bool DeviceHealth::used(std::map<unsigned, std::string> strangers) {
  return replaceBy(std::move(strangers), &strangers_);
}

bool DeviceHealth::found(unsigned index, const KnownFault& fault) {
  const bool before = good(index);
  Card& card = cards_[index];
  ++card.faults[fault.xid];
  card.fault = fault;
  return before && !good(index);
}

void DeviceHealth::recall(unsigned index, const KnownFault& fault, std::uint64_t now_ms) {
  if (now_ms > fault.since_ms && now_ms - fault.since_ms >= quiet_ms_) return;
  Card& card = cards_[index];
  card.fault = fault;
  card.fault.since_ms = std::min(fault.since_ms, now_ms);
}

std::map<unsigned, KnownFault> DeviceHealth::pending() const {
  std::map<unsigned, KnownFault> all;
  for (const auto& [index, card] : cards_)
    if (card.fault.xid != 0) all[index] = card.fault;
  return all;
}

bool DeviceHealth::faulty(unsigned index) const {
  const auto known = cards_.find(index);
  return known != cards_.end() && (!known->second.answers || known->second.fault.xid != 0);
}

std::string DeviceHealth::why(unsigned index) const {
  const auto known = cards_.find(index);
  if (known != cards_.end() && !known->second.answers) return "the device does not answer";
  if (known != cards_.end() && known->second.fault.xid != 0) return wordsOf(known->second.fault);
  if (const auto holder = holders_.find(index); holder != holders_.end())
    return holder->second + " holds it from another plugin";
  const auto stranger = strangers_.find(index);
  return stranger == strangers_.end() ? std::string()
                                      : stranger->second + ", an unmanaged process, uses it";
}

std::string DeviceHealth::heldBy(unsigned index) const {
  const auto holder = holders_.find(index);
  return holder == holders_.end() ? std::string() : holder->second;
}

const std::map<std::uint64_t, std::uint64_t>& DeviceHealth::faults(unsigned index) const {
  static const std::map<std::uint64_t, std::uint64_t> none;
  const auto known = cards_.find(index);
  return known == cards_.end() ? none : known->second.faults;
}

}  // namespace divvy::agent
