// Metering state of one application thread: its latest streams, and its launches in them that the
// shared account does not know yet.
#pragma once

#include <cstdint>

namespace divvy::interposer {

struct StreamRecord;
class Estimate;

struct StreamSlot {
  std::uint64_t name;    // of the stream, see streamName()
  std::uint64_t stamp;   // valid while equal to the meter's (and, for default streams, thread's);
                         // 0: for one launch only
  StreamRecord* record;  // null: no events there, charged by estimate
  std::uint32_t generation;
  std::uint32_t launches;  // since the last flush
  std::uint64_t sum;       // of their estimates
  Estimate* alike;         // of all these launches, if they are alike
  std::uint8_t device;
};

struct ThreadStreams {
  static constexpr unsigned kSlots = 4;

  std::uint32_t context_epoch;  // grows when the thread's current context may have changed
  std::uint32_t until_sample;   // launches until the next one that is measured by itself
  std::uint32_t random;
  StreamSlot* last;  // used last; null: none yet
  StreamSlot slots[kSlots];
};

extern "C" {
extern __attribute__((visibility("hidden"),
                      tls_model("initial-exec"))) constinit thread_local ThreadStreams divvy_meter;
}

// To be called where the calling thread's current context changes.
inline void noteContextChange() {
  ++divvy_meter.context_epoch;
}

}  // namespace divvy::interposer
