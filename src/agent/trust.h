// Whether a tenant's word on its use of the cards can be believed. Pure.
#pragma once

namespace divvy::agent {

// Fed about once a second. The driver's samples are coarse and late, so that only a large
// difference that stays is held against a tenant, and only as long as it stays.
class Trust {
 public:
  // Percent of a device's time: as the tenant was charged, and as the driver saw it. True when the
  // verdict changed.
  bool compare(int charged, int seen);
  bool distrusted() const { return distrusted_; }

 private:
  static constexpr int kTooMuch = 20;
  static constexpr unsigned kSamples = 3;       // in a row to lose trust
  static constexpr unsigned kGoodSamples = 10;  // in a row to regain it

  unsigned bad_ = 0;
  unsigned good_ = 0;
  bool distrusted_ = false;
};

}  // namespace divvy::agent
