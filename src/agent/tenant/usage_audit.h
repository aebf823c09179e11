// Whether a tenant's word on its use of the cards can be believed. Pure.
#pragma once

#include <array>

namespace divvy::agent {

// Fed about once a second. The driver's samples are coarse and late, so that only a large
// difference that stays is held against a tenant, and only as long as it stays.
class UsageAudit {
 public:
  // Percent of a device's time: as the tenant was charged since the last time, and as the driver
  // saw it, on average over two seconds that ended a while ago. Who takes turns of seconds is
  // charged all in one and nothing in the next: what counts is the most that it was charged the
  // last time, or on average over any two that followed each other of the last kAges. True when
  // the verdict changed.
  bool compare(int charged, int seen);
  bool distrusted() const { return distrusted_; }

 private:
  static constexpr int kTooMuch = 20;
  static constexpr unsigned kSamples = 3;       // in a row to lose trust
  static constexpr unsigned kGoodSamples = 10;  // in a row to regain it

  // Drivers average over 2 s and are up to 1.6 s late (seen on an H100, driver 580).
  static constexpr unsigned kAges = 5;

  std::array<int, kAges> charged_{};  // the latest first
  unsigned bad_ = 0;
  unsigned good_ = 0;
  bool distrusted_ = false;
};

}  // namespace divvy::agent
