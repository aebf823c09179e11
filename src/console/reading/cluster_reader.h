// A cluster as a view source.
#pragma once

#include <memory>

#include "console/cluster_source.h"
#include "reading/view_source.h"
#include "recording/cluster_recorder.h"
#include "view/cluster_view.h"

namespace divvy::console {

class ClusterReader : public ViewSource {
 public:
  // `source` and `store` outlive it.
  ClusterReader(ClusterSource& source, history::Store& store) : source_(source), recorder_(store) {}

  // Rows of a large cluster take longer than answers may wait, so they are built here.
  void read() override;
  // Null until nodes and pods are known, or a collection fails.
  std::shared_ptr<const ConsoleView> take(history::Instant now) override;
  bool settled() const override { return reading_.known(); }

 private:
  ClusterSource& source_;
  ClusterViewBuilder builder_;
  ClusterRecorder recorder_;
  ClusterReading reading_;
  std::shared_ptr<const ConsoleView> view_;
};

}  // namespace divvy::console
