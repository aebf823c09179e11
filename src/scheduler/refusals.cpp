#include "refusals.h"

namespace divvy::scheduler {

// Of a pod with one container that one need not be named.
const Reason& Refusals::reasonOf(const engine::NodeBrief& brief) {
  const auto key = [](const engine::NodeBrief& of) {
    return std::tie(of.why, of.container, of.needed, of.most, of.kind);
  };
  if (last_ != nullptr && key(*last_) == key(brief)) return *last_reason_;
  const auto [at, fresh] = made_.try_emplace(Key(key(brief)), Reason());
  last_ = &brief;
  last_reason_ = &at->second;
  if (!fresh) return at->second;
  const bool named = containers_.size() > 1 && brief.container < containers_.size();
  at->second = engine::text(brief, named ? containers_[brief.container] : std::string());
  return at->second;
}

std::vector<Reason> Refusals::reasonsOf(const std::vector<engine::NodeBrief>& different) {
  std::vector<Reason> reasons;
  for (const engine::NodeBrief& one : different) reasons.push_back(reasonOf(one));
  return reasons;
}

}  // namespace divvy::scheduler
