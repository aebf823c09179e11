// One examination of the marks of one context.
#pragma once

#include <atomic>
#include <cstdint>

#include "meter/device_time.h"
#include "meter/event_recorder.h"
#include "meter/process_usage.h"
#include "meter/stream_tracker.h"

namespace divvy::interposer {

// Lives on the stack of the settling thread, inside a DriverCallScope. Calls the driver.
class SettlePass {
 public:
  struct Parts {  // of the usage meter
    ProcessUsage& usage;
    const DeviceTime& time;
    StreamTracker& tracker;
    EventRecorder& marks;
    const std::atomic<std::uint64_t>& usual_call;  // duration of the driver's launch calls
  };
  SettlePass(const Parts& parts, ContextRecord& context, std::uint64_t now, Settled* out)
      : parts_(parts),
        context_(context),
        device_(parts.usage.device(context.device)),
        out_(out),
        now_(now) {}

  // Settles work that should have ended by `now`, or sets the next attempt in `out`.
  void run();
  // Settles all work of a context that ends, and frees its records. The caller has set `dying` and
  // holds `settling`.
  void end();

 private:
  void again(std::uint64_t at) {
    if (at < out_->look_at) out_->look_at = at;
  }
  std::uint64_t onHost(std::uint64_t nanoseconds) const { return parts_.time.onHost(nanoseconds); }
  void settleAll();
  void settleOlder();
  void settleStream(StreamRecord& record);
  void settleMark(StreamRecord& record, const EventMarker& mark, bool seen);
  void settleTail(StreamRecord& record, bool ends);
  bool timeOf(StreamRecord& record, CUevent event, std::uint64_t* at);
  void keep(StreamRecord& record, CUevent event);
  void learn(const EventMarker& mark, std::uint64_t covered, bool exact);

  const Parts& parts_;
  ContextRecord& context_;
  DeviceUsage& device_;
  Settled* out_;
  const std::uint64_t now_;
  std::uint64_t overdue_ = 0;  // by how much the latest mark is
  unsigned queries_ = 0;
};

}  // namespace divvy::interposer
