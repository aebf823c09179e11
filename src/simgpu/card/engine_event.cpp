#include "card/engine_event.h"

#include <span>

#include "card/engine_file.h"

namespace divvy::simgpu {

SharedEventName EngineLock::makeEvent() {
  EngineFileLayout& file = *file_.file_;
  const std::span<SharedEvent> all(file.events);
  for (const bool sweep : {false, true}) {
    for (std::uint32_t slot = 0; slot < all.size(); ++slot) {
      SharedEvent& event = all[slot];
      if (event.id != 0 && !(sweep && !file_.recordLives(event.record, event.generation))) continue;
      const ProcessRecord& self = *file_.card_->self();
      event = {.id = 0,
               .generation = self.generation,
               .record = static_cast<std::uint32_t>(file_.card_->selfIndex()),
               .padding = 0,
               .ref = 0,
               .end_ns = 0};
      const std::uint64_t id = ++file.next_event_id;
      orderStores();
      event.id = id;
      return {.id = id, .slot = slot};
    }
  }
  return {};
}

void EngineLock::dropEvent(const SharedEventName& name) {
  if (SharedEvent* event = findEvent(name); event != nullptr) event->id = 0;
}

SharedEvent* EngineLock::findEvent(const SharedEventName& name) {
  if (name.id == 0 || name.slot >= kMaxSharedEvents) return nullptr;
  SharedEvent& event = file_.file_->events[name.slot];
  return event.id == name.id ? &event : nullptr;
}

bool EngineLock::isOurs(OpRef ref) const {
  const Lane& lane = file_.file_->state.lanes[laneOf(ref)];
  const ProcessRecord* self = file_.card_->self();
  return self != nullptr && lane.generation == self->generation &&
         static_cast<int>(lane.record) == file_.card_->selfIndex();
}

bool EngineLock::isOver(OpRef ref) {
  if (ref == 0 || line_.view(ref).released) return true;
  const std::uint32_t lane = laneOf(ref);
  if (file_.laneLives(file_.file_->state.lanes[lane])) return false;
  line_.dropLane(lane);
  return true;
}

}  // namespace divvy::simgpu
