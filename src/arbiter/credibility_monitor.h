// Decides whether a tenant's reports of its work are credible. Pure. Private.
#pragma once

#include <cstdint>
#include <optional>

#include "arbiter/policy.h"

namespace divvy::arbiter {

// Reports are not credible if the tenant held a grant and settled nothing of it. They are credible
// again once it settles something.
class CredibilityMonitor {
 public:
  // Totals over all processes of the tenant.
  struct Counters {
    std::uint64_t settles = 0;
    std::uint64_t launches = 0;
  };

  explicit CredibilityMonitor(const Constants& constants) : constants_(constants) {}

  bool credible() const { return credible_; }
  // Accepts missing settlements up to `now`, because no arbiter ran for a while.
  void excuse(const Counters& counters, Nanos now);
  // A grant begins: judges the one before.
  void beginGrant();
  // The grant that lasted for `length` ends at `now`.
  void endGrant(Nanos length, Nanos now);
  // `granted_at`: start of the present grant; none: the tenant has no grant.
  void assess(const Report& report, const Counters& counters, std::optional<Nanos> granted_at,
              Nanos now);

 private:
  // Shorter grants prove nothing: the tenant may not have woken up in them.
  Nanos provingGrant() const { return constants_.quantum / 5; }
  // A tenant that launches must settle something at least this often. It must settle the work of a
  // grant at most this long after the grant's end.
  Nanos provingTime() const { return 2 * constants_.drain_bound; }
  void assessGrant();

  const Constants constants_;
  bool credible_ = true;
  // Present or last grant: it was used; it was used or wanted; something was settled in it.
  bool worked_ = false;
  bool held_ = false;
  bool proved_ = false;
  Nanos granted_for_ = 0;
  Nanos ended_at_ = 0;
  unsigned silent_grants_ = 0;  // in a row
  Counters settled_;            // when it last settled
  Nanos settled_at_ = 0;
};

}  // namespace divvy::arbiter
