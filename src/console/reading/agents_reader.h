// The agents of one machine as a view source.
#pragma once

#include <memory>
#include <vector>

#include "console/node_source.h"
#include "reading/view_source.h"
#include "recording/recorder.h"
#include "view/agent_view.h"

namespace divvy::console {

class AgentsReader : public ViewSource {
 public:
  // `source` and `store` outlive it.
  AgentsReader(NodeSource& source, WhySlow why_slow, history::Store& store)
      : source_(source), builder_(why_slow), recorder_(store) {}

  void read() override { readings_ = source_.read(); }
  std::shared_ptr<const ViewSet> take(history::Instant now) override {
    auto views = std::make_shared<ViewSet>();
    views->whole = before_ = std::make_shared<const ConsoleView>(
        builder_.build(readings_, now.time_since_epoch().count(), before_.get()));
    recorder_.record(readings_, now);
    return views;
  }

 private:
  NodeSource& source_;
  ViewBuilder builder_;
  Recorder recorder_;
  std::vector<NodeReading> readings_;
  std::shared_ptr<const ConsoleView> before_;
};

}  // namespace divvy::console
