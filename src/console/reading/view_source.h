// The source of the views of a console.
#pragma once

#include <memory>

#include "history/instant.h"
#include "view/view_set.h"

namespace divvy::console {

class ViewSource {
 public:
  virtual ~ViewSource() = default;

  // Reads. Blocks, on a thread of the poller.
  virtual void read() = 0;
  // Returns the views of the last reading. This or read() records it in the history. Called on the
  // executor's thread, while no read() runs. Null: nothing is known yet.
  virtual std::shared_ptr<const ViewSet> take(history::Instant now) = 0;
  // Returns whether the next reading may wait for a whole interval. Called as take().
  virtual bool settled() const { return true; }

  // Returns whether a viewer waits for the first view of its scope. Called as take().
  virtual bool lacksScopes() const { return false; }
  // Builds these views from the last reading, and returns all. Blocks, as read().
  virtual std::shared_ptr<const ViewSet> addScopes() { return nullptr; }
};

}  // namespace divvy::console
