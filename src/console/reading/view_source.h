// The source of the views of a console.
#pragma once

#include <memory>

#include "history/instant.h"
#include "view/console_view.h"

namespace divvy::console {

class ViewSource {
 public:
  virtual ~ViewSource() = default;

  // Reads. Blocks, on a thread of the poller.
  virtual void read() = 0;
  // Returns the view of the last reading, and records it in the history. Called on the executor's
  // thread, while no read() runs. Null: nothing is known yet.
  virtual std::shared_ptr<const ConsoleView> take(history::Instant now) = 0;
  // Returns whether the next reading may wait for a whole interval. Called as take().
  virtual bool settled() const { return true; }
};

}  // namespace divvy::console
