// What application and server share of a stream. Private.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "http/stream.h"

namespace divvy::http {

struct Stream::State {
  enum class Phase : std::uint8_t { kOpen, kEnding, kClosed };

  // Closes the stream for the server: drops what is queued, and calls `closed` unless the
  // application has ended the stream already.
  void fail();
  // Takes all queued bytes. They count as outstanding until sent().
  std::string take();
  void sent() { writing = 0; }

  std::size_t max_outstanding = kMaxOutstanding;
  Phase phase = Phase::kOpen;
  std::string queued;
  std::size_t writing = 0;        // bytes that were taken and are not sent
  std::function<void()> changed;  // wakes the connection; empty before and after it has the stream
  std::function<void()> closed;   // the application's
};

}  // namespace divvy::http
