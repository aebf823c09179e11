// A cluster as a view source.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "console/cluster_source.h"
#include "reading/view_source.h"
#include "recording/cluster_recorder.h"
#include "recording/event_history.h"
#include "view/cluster_view.h"
#include "viewers/scope_list.h"

namespace divvy::console {

class ClusterReader : public ViewSource {
 public:
  // All three outlive it.
  ClusterReader(ClusterSource& source, history::Store& store, const ScopeList& scopes)
      : source_(source), events_(store), recorder_(store), scopes_(scopes) {}

  // Rows of a large cluster take longer than answers may wait, so they are built here. Views of
  // scopes take at most half a second of a reading; the others stay as they were, and come first in
  // the next one.
  void read() override;
  // Null until nodes and pods are known, or a collection fails.
  std::shared_ptr<const ViewSet> take(history::Instant now) override;
  bool settled() const override { return origin_->reading.known(); }
  bool lacksScopes() const override;
  std::shared_ptr<const ViewSet> addScopes() override;

 private:
  // A reading that rows are built from.
  struct Origin {
    explicit Origin(ClusterReading one) : reading(std::move(one)), shares(reading) {}
    ClusterReading reading;
    ShareIndex shares;
  };
  struct Limited {
    ClusterViewBuilder builder;
    std::shared_ptr<const ConsoleView> view;
    std::uint64_t built = 0;  // number of the reading
  };

  // `only_new`: views of scopes that have none.
  void buildLimited(std::int64_t now_ms, bool only_new, ViewSet& views);
  // Numbers a view, and keeps its changes from the one before it (or null).
  std::shared_ptr<const ConsoleView> added(ConsoleView view, const ConsoleView* before,
                                           ViewSet& views);
  void setViews(std::shared_ptr<ViewSet> views);

  ClusterSource& source_;
  ClusterViewBuilder builder_;
  EventHistory events_;
  ClusterRecorder recorder_;
  const ScopeList& scopes_;
  std::unique_ptr<Origin> origin_ = std::make_unique<Origin>(ClusterReading());
  std::uint64_t readings_ = 0;
  std::uint64_t views_made_ = 0;
  std::map<ViewerScope, Limited> limited_;
  std::shared_ptr<const ViewSet> views_;
  // The views before: those of a large cluster take longer to free than answers may wait.
  std::shared_ptr<const ViewSet> earlier_views_;
};

}  // namespace divvy::console
