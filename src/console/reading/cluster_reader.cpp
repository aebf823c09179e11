#include "reading/cluster_reader.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>
#include <vector>

#include "viewers/viewer_filter.h"

namespace divvy::console {
namespace {

constexpr std::chrono::milliseconds kLimitedBound{500};

std::int64_t systemMs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

bool failed(const ClusterReading& reading) {
  return std::any_of(reading.collections.begin(), reading.collections.end(),
                     [](const ClusterCollection& one) { return !one.failure.empty(); });
}

}  // namespace

void ClusterReader::read() {
  ClusterReading reading = source_.read();
  std::unique_ptr<Origin> earlier;
  if (reading.known() || !origin_->reading.known()) {
    numberWaiting(reading);
    events_.merge(reading);
    earlier = std::exchange(origin_, std::make_unique<Origin>(std::move(reading)));
  } else if (!reading.collections.empty()) {
    // Rows of an earlier reading are better than none.
    for (ClusterCollection& one : origin_->reading.collections)
      one.failure = reading.collections.front().failure;
  }
  ++readings_;
  const std::int64_t now_ms = systemMs();
  auto views = std::make_shared<ViewSet>();
  const ConsoleView* before = views_ == nullptr ? nullptr : views_->whole.get();
  const Origin& known = earlier == nullptr ? *origin_ : *earlier;
  views->whole =
      added(builder_.build(origin_->shares, now_ms, {before, nullptr, before, &known.shares}),
            before, *views);
  buildLimited(now_ms, false, *views);
  setViews(std::move(views));
  if (origin_->reading.known())
    recorder_.record(origin_->reading, *views_->whole, history::Instant(history::Span(now_ms)));
}

std::shared_ptr<const ConsoleView> ClusterReader::added(ConsoleView view, const ConsoleView* before,
                                                        ViewSet& views) {
  view.number = ++views_made_;
  if (before != nullptr) views.changes.emplace(view.number, changesBetween(*before, view));
  return std::make_shared<const ConsoleView>(std::move(view));
}

void ClusterReader::setViews(std::shared_ptr<ViewSet> views) {
  views->namespaces = namespacesOf(origin_->reading);
  for (const auto& [scope, one] : limited_)
    if (one.view != nullptr) views->limited.emplace(scope, one.view);
  earlier_views_ = std::exchange(views_, std::move(views));
}

void ClusterReader::buildLimited(std::int64_t now_ms, bool only_new, ViewSet& views) {
  const std::set<ViewerScope> wanted = scopes_.get();
  std::erase_if(limited_, [&](const auto& entry) { return !wanted.contains(entry.first); });
  for (const ViewerScope& scope : wanted) limited_.try_emplace(scope);
  std::vector<std::pair<std::uint64_t, const ViewerScope*>> order;
  for (const auto& [scope, one] : limited_)
    if (!only_new || one.view == nullptr) order.emplace_back(one.built, &scope);
  std::sort(order.begin(), order.end());
  if (order.empty()) return;
  const ReadingIndex index(origin_->reading);
  const auto until = std::chrono::steady_clock::now() + kLimitedBound;
  for (const auto& [built, scope] : order) {
    Limited& one = limited_.at(*scope);
    const ClusterReading part = visiblePart(index, *scope);
    const EarlierViews earlier{one.view.get(), views.whole.get(), views.whole.get(),
                               &origin_->shares};
    one.view = added(one.builder.build(ShareIndex(part), now_ms, earlier), earlier.before, views);
    one.built = readings_;
    if (std::chrono::steady_clock::now() >= until) break;
  }
}

std::shared_ptr<const ViewSet> ClusterReader::take(history::Instant) {
  return origin_->reading.known() || failed(origin_->reading) ? views_ : nullptr;
}

bool ClusterReader::lacksScopes() const {
  if (views_ == nullptr) return false;
  const std::set<ViewerScope> wanted = scopes_.get();
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const ViewerScope& scope) { return !views_->limited.contains(scope); });
}

std::shared_ptr<const ViewSet> ClusterReader::addScopes() {
  auto views = std::make_shared<ViewSet>();
  views->whole = views_->whole;
  buildLimited(systemMs(), true, *views);
  setViews(std::move(views));
  return views_;
}

}  // namespace divvy::console
