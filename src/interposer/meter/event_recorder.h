// Records events behind launches: the marks by which the end of work is observed.
#pragma once

#include <atomic>
#include <cstdint>

#include "meter/device_time.h"
#include "meter/process_usage.h"
#include "meter/stream_tracker.h"

namespace divvy::interposer {

// The data of a mark besides the sums.
struct MarkerContext {
  bool fresh = false;
  bool single_kernel = false;
  std::uint64_t call = 0;
  std::uint64_t made = 0;      // when the work was launched, if the call waited for its end
  bool late = false;           // recorded by the settling thread, long after the launches
  std::uint32_t launches = 0;  // if late: the launches that it covers, and no later launches
  std::uint64_t sum = 0;
};

// One per process, in static storage. Any thread, inside a DriverCallScope. Calls the driver. Locks
// are tried, not waited for.
//
// A mark and the end of its stream. record() takes `marking` and then reads `gone`, both
// sequentially consistent. A thread that ends the stream sets `gone`, then awaitUnmarked() fences
// and reads `marking`. So the recorder sees `gone`, or the ending thread sees `marking` and waits.
//
// A late mark and a capture. A thread other than the launching one counts itself with a
// sequentially consistent read-modify-write, which no later acquiring load passes on x86-64 and
// aarch64, and then reads whether a capture is open. A thread that begins a capture counts the
// capture; makeWayForCapture() then fences and reads the count of late marks. So the late mark is
// not recorded, or the capture waits until it is.
class EventRecorder {
 public:
  constexpr EventRecorder(ProcessUsage& usage, const DeviceTime& time)
      : usage_(usage), time_(time) {}

  // Records a mark behind the launches that were flushed into the stream. Returns false, without a
  // mark, if another thread records one there, the stream or context ends, there is no room or no
  // event, the stream captures, or the mark is to be fresh and the stream is not idle.
  bool record(StreamRecord& record, const MarkerContext& behind);
  // Records a mark behind `launches` behind which there is none, for the settling thread. No thread
  // may be about to launch more.
  bool recordLate(StreamRecord& record, std::uint32_t launches);

  // To be called when the gate was open until now. watchOlder() then records an event behind all
  // work that the context received meanwhile, if the driver has cuCtxRecordEvent. Returns false if
  // that is still to be done.
  void beginRound() { round_.fetch_add(1, std::memory_order_relaxed); }
  bool watchOlder(ContextRecord& context);

  // Returns when no thread records a mark in the stream, or after 0.1 s. `gone` is set before.
  static void awaitUnmarked(const StreamRecord& record);
  // See UsageMeter::makeWayForCapture().
  void makeWayForCapture() const;

 private:
  bool put(StreamRecord& record, const MarkerContext& behind);
  bool recordOlder(ContextRecord& context);

  ProcessUsage& usage_;
  const DeviceTime& time_;
  std::atomic<std::uint32_t> round_{1};       // grows with beginRound()
  std::atomic<std::uint32_t> late_marks_{0};  // being recorded at this moment
};

}  // namespace divvy::interposer
