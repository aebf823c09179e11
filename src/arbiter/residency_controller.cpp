#include "residency_controller.h"

#include <algorithm>

namespace divvy::arbiter {

Residence::Residence(const StayConstants& constants, StayDevices devices)
    : law_(constants), devices_(std::move(devices)) {}

void Residence::setDevice(unsigned device, const StayDevice& terms) {
  if (terms.budget == 0) {
    devices_.erase(device);
  } else {
    devices_[device] = terms;
  }
  for (unsigned i = 0; i < kMaxGroupDevices; ++i) {
    if (!places_[i].known || places_[i].device != device) continue;
    const StayDevice before = places_[i].terms;
    places_[i].known = false;
    place(i, device);
    if (before.budget == 0) continue;
    // What was measured stays known.
    const std::uint64_t chunk = places_[i].terms.link.chunk;
    places_[i].terms.link = before.link;
    places_[i].terms.link.chunk = chunk;
    law_.setDevice(i, places_[i].terms);
  }
}

void Residence::place(unsigned index, unsigned device) {
  Place& place = places_[index];
  if (place.known) return;
  const auto terms = devices_.find(device);
  place.known = true;
  place.device = device;
  place.terms = terms == devices_.end() ? StayDevice{} : terms->second;
  law_.setDevice(index, place.terms);
}

StayTerms Residence::termsOf(const Member& member) const {
  StayTerms terms = member.stay;
  terms.cls = member.terms.cls;
  terms.devices = member.terms.devices;
  terms.swappable = member.lodging != nullptr;
  terms.guarantee = terms.ceiling = terms.base = terms.parked_need = DeviceBytes{};
  for (std::size_t i = 0; i < member.places.size(); ++i) {
    terms.guarantee[member.places[i]] = member.stay.guarantee[i];
    terms.ceiling[member.places[i]] = member.stay.ceiling[i];
    terms.base[member.places[i]] = member.stay.base[i];
    terms.parked_need[member.places[i]] = member.stay.parked_need[i];
  }
  return terms;
}

void Residence::enter(const Member& member, Nanos now) {
  for (std::size_t i = 0; i < member.places.size(); ++i)
    place(member.places[i], member.devices()[i]);
  law_.add(member.key, termsOf(member), now);
  names_[member.key] = member.id();
  // Who cannot be swapped says nothing.
  if (member.lodging == nullptr) law_.report(member.key, Stay{}, now);
}

void Residence::change(const Member& member, Nanos now) {
  law_.change(member.key, termsOf(member), now);
}

void Residence::leave(const Member& member, Nanos now) {
  law_.remove(member.key, now);
  names_.erase(member.key);
}

void Residence::keep(const Member& member, Nanos now) {
  StayTerms terms = termsOf(member);
  terms.swappable = false;
  law_.change(member.key, terms, now);
  kept_[member.id()] = member.key;
}

void Residence::forget(const std::string& id, Nanos now) {
  const auto kept = kept_.find(id);
  if (kept == kept_.end()) return;
  law_.remove(kept->second, now);
  kept_.erase(kept);
}

void Residence::weigh(Member* member, unsigned percent, Nanos now) {
  if (member->lodging == nullptr || percent == 0 || percent == member->stay.weight) return;
  member->stay.weight = percent;
  change(*member, now);
}

void Residence::look(Member* member, Nanos now) {
  if (member->lodging == nullptr) return;
  const Stay own = member->lodging->look(now);
  if (member->lodging->broken()) {
    member->lodging.reset();
    member->unswapped = "its swap file was truncated";
    member->resident = true;
    change(*member, now);
    return;
  }
  Stay stay = own;
  stay.at.fill(Holding{});
  stay.distrusted = member->distrusted;
  for (std::size_t i = 0; i < member->places.size(); ++i) {
    Place& place = places_[member->places[i]];
    stay.at[member->places[i]] = own.at[i];
    place.meter.note(member->lodging->takeWork(static_cast<unsigned>(i)));
    place.meter.measure(&place.terms.link);
    law_.setDevice(member->places[i], place.terms);
  }
  law_.report(member->key, stay, now);
}

bool Residence::arrange(const Members& members, Nanos now) {
  if (!budgeted()) return false;
  bool changed = false;
  std::vector<Member*> lowered;
  for (const StayOrder& order : law_.decide(now)) {
    const auto found = std::find_if(members.begin(), members.end(), [&](const auto& member) {
      return member->key == order.tenant;
    });
    if (found == members.end()) continue;
    Member& member = **found;
    changed = changed || member.resident != order.eligible || member.park != order.park ||
              member.reserved != order.reserved;
    member.resident = order.eligible;
    member.park = order.park;
    member.reserved = order.reserved;
    if (member.lodging == nullptr) continue;
    StayOrder own = order;
    own.allowed = own.most = own.want = DeviceBytes{};
    if (order.lowers) lowered.push_back(&member);
    for (std::size_t i = 0; i < member.places.size(); ++i) {
      own.allowed[i] = order.allowed[member.places[i]];
      own.most[i] = order.most[member.places[i]];
      own.want[i] = order.want[member.places[i]];
    }
    member.lodging->tell(own);
  }
  // Who takes what it may rings no bell; what it did not take others can have.
  for (Member* member : lowered) look(member, now);
  return changed;
}

MemoryFigures Residence::figures(const Member& member, Nanos now) const {
  MemoryFigures figures;
  figures.unswapped = member.unswapped;
  figures.swapped = budgeted() && member.lodging != nullptr;
  if (!figures.swapped) return figures;
  const StayFigures law = law_.figures(member.key);
  figures.resident = law.resident && law.eligible;
  figures.waiting = law.waiting;
  figures.round = member.stay.round;
  figures.park = law.park;
  figures.reserved = law.reserved;
  figures.reason = law.reason;
  const auto taker = names_.find(law.taker);
  if (taker != names_.end()) figures.lent_to = taker->second;
  figures.turn_left = law.turn_ends == 0 ? 0 : std::max(law.turn_ends - now, Nanos{0});
  figures.swaps = law.swaps;
  figures.longest_wait = law.longest_wait;
  for (const unsigned place : member.places) figures.allowed.push_back(law.allowed[place]);
  return figures;
}

std::map<unsigned, StayDeviceFigures> Residence::devices() const {
  std::map<unsigned, StayDeviceFigures> figures;
  for (unsigned i = 0; i < kMaxGroupDevices; ++i)
    if (places_[i].known && places_[i].terms.budget != 0)
      figures[places_[i].device] = law_.device(i);
  return figures;
}

}  // namespace divvy::arbiter
