// Viewers of one scope: their view, and the streams that follow it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "console/viewer.h"
#include "live/stream_hub.h"
#include "view/view_set.h"

namespace divvy::console {

// What viewers of equal scopes share.
struct ViewerGroup {
  std::shared_ptr<const ConsoleView> view;  // null: none was built yet
  std::unique_ptr<StreamHub> hub;
};

// The groups of all sessions. Used on the server's thread only.
class ViewerGroups {
 public:
  // `first`: what viewers of the whole see before the first reading.
  ViewerGroups(StreamHub::Lasts lasts, std::shared_ptr<const ConsoleView> first);

  // Returns the group of a scope; a new one has no view. Valid until keepOnly().
  ViewerGroup& of(const ViewerScope& scope);
  // The group that sees everything.
  ViewerGroup& whole() { return of(wholeScope()); }

  // Makes these the present views, and sends the differences to the streams.
  void publish(const ViewSet& views);
  // Removes groups of other scopes; that of the whole stays.
  void keepOnly(const std::set<ViewerScope>& scopes);

  // As StreamHub.
  void beat();
  void endSession(const std::string& cookie, std::string_view reason);
  // Closes the streams of a session without a last message: its browser opens them again.
  void dropStreams(const std::string& cookie);
  // Returns whether the session has an open stream.
  bool hasStream(const std::string& cookie) const;
  std::size_t streams() const;

 private:
  StreamHub::Lasts lasts_;
  std::uint64_t made_ = 0;
  std::map<ViewerScope, ViewerGroup> groups_;
};

}  // namespace divvy::console
