#include "live/viewer_groups.h"

#include <chrono>
#include <utility>

namespace divvy::console {
namespace {

constexpr std::size_t kMaxBytesOfScope = std::size_t{1} << 20;

// Tells the messages of this process from those of the one before.
std::string processEpoch() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

}  // namespace

ViewerGroups::ViewerGroups(StreamHub::Lasts lasts, std::shared_ptr<const ConsoleView> first)
    : lasts_(std::move(lasts)) {
  whole().view = std::move(first);
}

ViewerGroup& ViewerGroups::of(const ViewerScope& scope) {
  const auto [at, is_new] = groups_.try_emplace(scope);
  if (is_new)
    at->second.hub =
        std::make_unique<StreamHub>(processEpoch() + "." + std::to_string(++made_), lasts_,
                                    scope.everything() ? TopicLog::kMaxBytes : kMaxBytesOfScope);
  return at->second;
}

void ViewerGroups::publish(const ViewSet& views) {
  for (auto& [scope, group] : groups_) {
    const auto limited = views.limited.find(scope);
    const bool is_whole = scope.everything();
    if (!is_whole && limited == views.limited.end()) continue;
    const std::shared_ptr<const ConsoleView>& view = is_whole ? views.whole : limited->second;
    if (group.view == view) continue;
    const auto changes = views.changes.find(view->number);
    const bool known = changes != views.changes.end() && group.view != nullptr &&
                       changes->second.from != 0 && changes->second.from == group.view->number;
    if (known)
      group.hub->publish(changes->second.list);
    else if (group.view != nullptr)
      group.hub->publish(*group.view, *view);
    group.view = view;
  }
}

void ViewerGroups::keepOnly(const std::set<ViewerScope>& scopes) {
  std::erase_if(groups_, [&](const auto& entry) {
    return !entry.first.everything() && !scopes.contains(entry.first);
  });
}

void ViewerGroups::beat() {
  for (auto& [scope, group] : groups_) group.hub->beat();
}

void ViewerGroups::endSession(const std::string& cookie, std::string_view reason) {
  for (auto& [scope, group] : groups_) group.hub->endSession(cookie, reason);
}

void ViewerGroups::dropStreams(const std::string& cookie) {
  for (auto& [scope, group] : groups_) group.hub->dropSession(cookie);
}

bool ViewerGroups::hasStream(const std::string& cookie) const {
  for (const auto& [scope, group] : groups_)
    if (group.hub->has(cookie)) return true;
  return false;
}

std::size_t ViewerGroups::streams() const {
  std::size_t count = 0;
  for (const auto& [scope, group] : groups_) count += group.hub->size();
  return count;
}

}  // namespace divvy::console
