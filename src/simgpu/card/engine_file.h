// The file that holds one card's timeline, and the only way to it: an EngineLock.
#pragma once

#include <atomic>
#include <string>

#include "card/card.h"
#include "card/card_clock.h"
#include "card/engine_event.h"
#include "timeline/timeline.h"

namespace divvy::simgpu {

struct EngineFileLayout {
  std::uint64_t magic;                  // written last when the file is made
  std::uint64_t boot[2];                // the clock means nothing after a reboot
  std::atomic<std::uint32_t> changing;  // non-zero while a lock holder changes the state
  std::uint32_t time_scale;             // of made_ns and all that follows
  Nanos last_sweep;
  Nanos made_ns;  // distinguishes this file from others
  std::uint64_t next_event_id;
  SharedEvent events[kMaxSharedEvents];
  TimelineState state;
};

// Where the timeline of a card lies; the layout's size is part of the name.
std::string engineFilePath(const std::string& dir, int index);

class EngineFile : private IntervalSink {
 public:
  EngineFile() = default;
  EngineFile(const EngineFile&) = delete;
  EngineFile& operator=(const EngineFile&) = delete;
  ~EngineFile() override;

  // Maps the timeline of an open and joined card, making the file if there is none of this boot.
  // `card` must outlive this. False: the directory cannot be written or is full.
  bool open(Card& card, const std::string& dir, int index, const EngineConfig& config);

  // A lane for a context of this process, its memory allocated beforehand: nothing later can fail
  // for want of space. kNoLane: no lane or no space.
  std::uint32_t addLane();
  // Drops the lane with its pending operations.
  void dropLane(std::uint32_t lane);
  Nanos madeNs() const { return file_->made_ns; }

 private:
  friend class EngineLock;
  bool prepareLocked(int fd, const EngineConfig& config);
  bool recordLives(std::uint32_t record, std::uint64_t generation) const;
  bool laneLives(const Lane& lane) const { return recordLives(lane.record, lane.generation); }
  void sweepBusyLocked(Nanos now);
  std::uint32_t pickLaneLocked();
  void ran(const Lane& lane, Engine engine, Nanos start_ns, Nanos end_ns) override;

  Card* card_ = nullptr;
  EngineFileLayout* file_ = nullptr;
};

// Exclusive use of a card's timeline, advanced to the present, without work of dead processes.
class EngineLock {
 public:
  explicit EngineLock(EngineFile& file);
  ~EngineLock();
  EngineLock(const EngineLock&) = delete;
  EngineLock& operator=(const EngineLock&) = delete;

  Timeline& line() { return line_; }
  Nanos now() const { return now_; }

  // A new shared event of this process; one without id: all are taken by living processes.
  SharedEventName makeEvent();
  // Only for what makeEvent() gave.
  void dropEvent(const SharedEventName& name);
  // nullptr: its maker has dropped it, or the name was never given.
  SharedEvent* findEvent(const SharedEventName& name);

  // True when the lane of the operation belongs to this process.
  bool isOurs(OpRef ref) const;
  // True when the operation has ended and its process, whichever that is, has run its effect, or
  // will never do so because it is dead.
  bool isOver(OpRef ref);

 private:
  EngineFile& file_;
  CardLock lock_;
  Timeline line_;
  Nanos now_;
};

}  // namespace divvy::simgpu
