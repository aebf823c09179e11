// Refused pods for which others may have to end: whose turn it is to be planned for, and when
// kube-scheduler has to be made to ask again first. Pure. Private.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/units.h"
#include "kube/pod.h"

namespace divvy::scheduler {

struct PreemptionCandidate {
  kube::Pod pod;
  std::vector<std::string> nodes;  // that would do but for what others have there; ascending
};

class PreemptionBackoff {
 public:
  // kube-scheduler found it to fit nowhere: these nodes would do but for devices. The second: these
  // would if pods of lower priority were not there; it tells of them right after the first, or
  // instead.
  void refused(const kube::Pod& pod, std::span<const std::string_view> nodes, engine::Instant now);
  void offered(const kube::Pod& pod, std::span<const std::string_view> nodes, engine::Instant now);
  void drop(const std::string& uid) { all_.erase(uid); }
  void clear() { all_.clear(); }
  bool has(const std::string& uid) const { return all_.contains(uid); }
  std::size_t size() const { return all_.size(); }

  // Whose turn it is: the highest priority first. None: nobody's now.
  std::optional<PreemptionCandidate> next(engine::Instant now) const;
  // What was tried for it came to nothing: again after a pause that grows.
  void failed(const std::string& uid, engine::Instant now);
  // A plan is under way: not before this.
  void rest(const std::string& uid, engine::Instant until);
  // Whose time has come, and what kube-scheduler said of them is old by now: it has to ask again.
  // Each after a pause that grows.
  std::vector<kube::Meta> stale(engine::Instant now);

 private:
  struct One {
    PreemptionCandidate contender;
    engine::Instant heard{};  // when kube-scheduler said that last
    engine::Instant next{};   // nothing is done before
    unsigned tries = 0;
    std::size_t turn = 0;
  };
  One* enter(const kube::Pod& pod, engine::Instant now);

  std::map<std::string, One> all_;  // by UID
  std::size_t turns_ = 0;
};

}  // namespace divvy::scheduler
