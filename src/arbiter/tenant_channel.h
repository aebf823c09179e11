// One tenant of a group, as its arbiter sees it: what its processes say, bounded, and its grant.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arbiter/policy.h"
#include "arbiter/settings.h"
#include "arbiter/stats.h"
#include "ledger/grants.h"
#include "tenant_residency.h"
#include "wakeup_limiter.h"

namespace divvy::arbiter {

// Belongs to whoever runs the group: its thread, or the agent's main one while there is none.
class TenantChannel {
  // Looked at of each member at each step, and so side by side.
  Gate gate_ = Gate::kOpen;
  bool in_flight_ = false;  // at the last look
  bool waiting_ = false;    // likewise
  bool passed_ = false;
  bool tells_when_ = false;
  Nanos looked_at_ = 0;
  Nanos quiet_since_ = 0;
  Nanos granted_at_ = 0;

 public:
  bool told = false;                           // since it joined this group
  std::uint32_t bell = 0;                      // as last seen
  WakeupLimiter patience;                      // with its bell
  std::unique_ptr<TenantResidency> residency;  // its memory; null: none of it can be swapped

  // `devices`: the node's, in the order of the tenant's pages.
  TenantChannel(std::string id, ledger::GrantPages pages, const Entitlement& terms,
                std::vector<unsigned> devices, const Settings& settings);

  const std::string& id() const { return id_; }
  const std::vector<unsigned>& devices() const { return devices_; }
  ledger::GrantPages& pages() { return pages_; }

  void arrive(unsigned slot, std::uint64_t generation);
  void leave(unsigned slot, std::uint64_t generation);
  // The process cannot run (SIGSTOP, a debugger): until it does something again it launches
  // nothing, and what it launched has ended when it said that it would.
  void halt(unsigned slot, std::uint64_t generation);
  unsigned processes() const { return static_cast<unsigned>(processes_.size()); }

  // From now on its memory is swapped, by these pages.
  void lodge(ledger::ResidencyPages pages);
  // A new law counts for it: what it used so far is past.
  void join();
  // Nobody arbitrated for a while: what it did not say meanwhile is not held against it.
  void acquit(Nanos now);
  // Whether its lines are worth reading although nobody rang.
  bool mayDiffer(Nanos now) const {
    return gate_ != Gate::kHold || in_flight_ || now - looked_at_ > kLookAgain;
  }
  // Nor its bell, which is memory of another process: it has been quiet for a while, and was read a
  // short while ago.
  bool rests(Nanos now) const {
    return quiet() && looked_at_ - quiet_since_ > kLookAgain && now - looked_at_ <= kLookLater;
  }
  // As seen when they were last read.
  bool inFlight() const { return in_flight_; }
  // Held back with nothing in flight, and it waits for its turn: nothing that it could ring for
  // changes whose turn it is. What rings for its memory does.
  bool quiet() const {
    return gate_ == Gate::kHold && !in_flight_ && waiting_ && residency == nullptr;
  }
  // When inFlight() changed, if it did between the last two looks: between these by its own word.
  // The later one where it does not say.
  Nanos turnedAt() const { return turned_at_; }
  // It was given its turn, and has worked and come to rest unseen.
  bool passed() const { return passed_; }
  // All its processes say when work began and ended.
  bool tellsWhen() const { return tells_when_; }
  Nanos grantedAt() const { return granted_at_; }
  // When to look whether it has begun where nothing will tell when that was; kNever.
  Nanos startSeenAt() const {
    if (tells_when_ || gate_ != Gate::kRun || in_flight_ || !waiting_) return kNever;
    return granted_at_ + 2 * settings_.constants.overlap + settings_.constants.idle;
  }
  // Reads the lines of all processes. Time that one says it used counts up to the time it has been
  // known, and never backwards.
  Report look(Nanos now);

  // Carries out an order; the sequence under which the tenant was told.
  std::uint64_t tell(const Order& order, Nanos now);
  bool gated() const { return gate_ != Gate::kOpen; }
  // People would see the difference.
  bool changesFace(const Order& order) const {
    return order.mode != mode_ || order.weight != weight_ ||
           (order.gate == Gate::kOpen) != (gate_ == Gate::kOpen);
  }
  // Nobody arbitrates this tenant now.
  void release(Nanos now) { tell(Order{}, now); }

  // Begins a new window of figures; `law`: what the law says of it now, or nothing.
  void sample(const GroupStats& policy, Nanos now);
  // The windows of the last sample, the rest as of now.
  TenantStats figures(const GroupStats& policy) const;
  // The law that counted for it is about to go.
  void carry(const GroupStats& policy);

  Entitlement terms;
  Key key = 0;
  bool distrusted = false;       // never credible
  std::vector<unsigned> places;  // of its devices within the group
  // Of its memory: what it is entitled to, by its own devices.
  ResidencyEntitlement stay;
  std::string unswapped;  // why not, although it was to be
  bool resident = true;   // else it takes no part in turns of compute
  bool park = false;      // as last told
  bool reserved = false;
  std::shared_ptr<const TenantHandoff> handoff;  // in the group that it comes from; null: from none

 private:
  // Who is held back and has nothing in flight only settles what it used before.
  static constexpr Nanos kLookAgain = 20 * kMillisecond;
  static constexpr Nanos kLookLater = 500 * kMillisecond;

  struct Process {
    bool known = false;  // a line was read
    Nanos since = 0;     // when first read
    ledger::WorkSample last;
    Nanos told_run = 0;  // of toldRun(), when it last did anything
    bool halted = false;
    Nanos halted_at = 0;
    std::array<Nanos, ledger::kMaxDevices> credited{};
  };
  // Sums over all processes that ever were.
  struct Sums {
    std::array<Nanos, ledger::kMaxDevices> busy{};  // index: the tenant's own device
    std::uint64_t launches = 0;
    std::uint64_t settles = 0;
    std::uint64_t waits = 0;
    std::uint64_t escapes = 0;
    Nanos cpu = 0;
    Nanos longest = 0;
  };
  struct Window {
    Nanos at = 0;
    std::array<Nanos, kMaxGroupDevices> got{};
    Nanos throttled = 0;
    std::uint64_t grants = 0;
    Nanos cpu = 0;
  };

  // When work began and ended, as its processes tell.
  struct Turns {
    bool told = true;
    bool moved = false;  // something was launched
    Nanos began = kNever;
    Nanos ended = 0;
    void add(const ledger::WorkSample& sample, bool in_flight) {
      told = told && sample.turned != 0;
      const auto at = static_cast<Nanos>(std::min<std::uint64_t>(sample.turned, INT64_MAX));
      if (in_flight) began = std::min(began, at);
      if (!in_flight) ended = std::max(ended, at);
    }
  };
  void noteTurn(const Report& report, const Turns& turns, Nanos now);
  void absorb(Process& process, const ledger::WorkSample& sample, Nanos now);
  // Grants shorter than this prove nothing: whoever was given one may not have woken up yet.
  Nanos provingGrant() const { return settings_.constants.quantum / 5; }
  // A tenant that may run for long must settle something this often while it launches, and what it
  // launched in a grant this long after its end at the latest.
  Nanos provingTime() const { return 2 * settings_.constants.drain_bound; }
  void judge(const Report& report, Nanos now);
  void judgeGrant();
  // How long the tenant has been told to run in all.
  Nanos toldRun(Nanos now) const {
    return told_run_ + (gate_ == Gate::kRun ? now - granted_at_ : 0);
  }
  // Whether it still waits for its turn. Who was given it for so long and did not stir is stopped,
  // or kept from the processor, and is back as soon as it does anything.
  bool waits(const Process& process, Nanos now) const {
    // Who was stopped at the gate may be back and stirs only once it has had a turn.
    const bool at_work = (process.last.state & ledger::kWorkInFlight) != 0;
    return (process.last.state & ledger::kWorkWaiting) != 0 && !(process.halted && at_work) &&
           toldRun(now) - process.told_run < takeUp();
  }
  // Whose word is not believed may have more on its way than it says.
  bool worksOn(const Process& process, Nanos now) const {
    if ((process.last.state & ledger::kWorkInFlight) == 0) return false;
    if (distrusted || !process.halted) return true;
    const bool unknown = process.last.inflight_until == 0;
    return (unknown ? process.halted_at + settings_.constants.drain_bound
                    : untilOf(process.last, now)) > now;
  }
  // When it says that its work ends; no further ahead than that is believed.
  static Nanos untilOf(const ledger::WorkSample& sample, Nanos now);
  Nanos takeUp() const { return std::max(settings_.constants.quantum, 10 * kMillisecond); }

  ledger::GrantPages pages_;
  std::map<std::pair<unsigned, std::uint64_t>, Process> processes_;
  Nanos turned_at_ = 0;
  const Settings settings_;
  std::string id_;
  std::vector<unsigned> devices_;
  Sums sums_;
  std::array<Nanos, ledger::kMaxDevices> past_busy_{};  // before it joined

  // Whether what it says can be believed: a grant that it held and settled nothing of cannot.
  Mode mode_ = Mode::kSolo;
  unsigned weight_ = 0;
  bool credible_ = true;
  // Of the present or last grant: it was used, it was used or wanted, something was settled in it.
  bool worked_ = false;
  bool held_ = false;
  bool proved_ = false;
  Nanos granted_for_ = 0;
  Nanos ended_at_ = 0;
  Nanos told_run_ = 0;          // in all grants that have ended
  unsigned silent_grants_ = 0;  // in a row
  std::uint64_t settles_seen_ = 0;
  std::uint64_t launches_seen_ = 0;  // when it last settled
  Nanos settled_at_ = 0;

  GroupStats before_;  // sums of laws that counted for it earlier
  Window window_;
  TenantStats shown_;
};

}  // namespace divvy::arbiter
