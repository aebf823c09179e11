// The law of residency, carried out for the tenants of one group.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "arbiter/residency.h"
#include "policy/bandwidth_estimator.h"
#include "tenant_channel.h"

namespace divvy::arbiter {

// By the node's number. Devices that are not in it have room for everything.
using StayDevices = std::map<unsigned, StayDevice>;

// Belongs to an Arbiter, and is used as its Law is.
class Residence {
 public:
  using Members = std::vector<std::shared_ptr<Member>>;

  Residence(const StayConstants& constants, StayDevices devices);

  void setDevice(unsigned device, const StayDevice& terms);
  // The member has its places and key.
  void enter(const Member& member, Nanos now);
  void change(const Member& member, Nanos now);
  void leave(const Member& member, Nanos now);
  // Nothing is known of it any more: what it has stays, and may be all that it is entitled to.
  void keep(const Member& member, Nanos now);
  void forget(const std::string& id, Nanos now);
  // How long its turns last, relative to others'.
  void weigh(Member* member, unsigned percent, Nanos now);

  // Reads what the member's processes say of their memory.
  void look(Member* member, Nanos now);
  // Tells members what they may have. True: somebody takes part in turns of compute now that did
  // not, or the other way round.
  bool arrange(const Members& members, Nanos now);
  Nanos wakeAt() const { return budgeted() ? law_.wakeAt() : kNever; }

  MemoryFigures figures(const Member& member, Nanos now) const;
  std::map<unsigned, StayDeviceFigures> devices() const;

 private:
  struct Place {
    unsigned device = 0;  // the node's number
    StayDevice terms;
    LinkMeter meter;
    bool known = false;
  };

  bool budgeted() const { return !devices_.empty(); }
  // In the numbers of the group.
  StayTerms termsOf(const Member& member) const;
  void place(unsigned index, unsigned device);

  Residency law_;
  StayDevices devices_;
  std::array<Place, kMaxGroupDevices> places_{};
  std::map<std::string, Key> kept_;
  std::map<Key, std::string> names_;  // of those that are here
};

}  // namespace divvy::arbiter
