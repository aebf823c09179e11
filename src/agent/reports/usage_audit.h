// Whether a tenant's reports are credible: its use of devices against the driver's figures, and the
// consistency of its report page. Pure.
#pragma once

#include <array>
#include <optional>
#include <vector>

namespace divvy::agent {

// Percent of one device's time.
struct UsageSample {
  int charged = 0;  // since the last sample
  int seen = 0;     // measured by the driver
  friend bool operator==(const UsageSample&, const UsageSample&) = default;
};

// The sample in which the driver sees most in excess of the charge; the first of equal ones.
// Nothing: there is no sample.
std::optional<UsageSample> largestExcess(const std::vector<UsageSample>& samples);

// Takes a sample about once a second. The driver's samples are coarse and late: only a large
// difference that lasts makes a tenant distrusted, and only while it lasts.
class UsageAudit {
 public:
  // Compares percentages of a device's time. `charged`: since the last call. `seen`: measured by
  // the driver, an average over two seconds that ended a while ago.
  // A tenant with turns of seconds is charged everything at once and nothing after. `seen` is
  // therefore compared with the largest of the last charge and the averages of two adjacent charges
  // among the last kAges. Returns true if the verdict changed.
  bool compare(int charged, int seen);
  bool distrusted() const { return distrusted_; }

  // Takes a report of the tenant. Returns true once: after `enough` consecutive reports with an
  // inconsistency.
  bool noteReport(bool inconsistent, unsigned enough);

 private:
  static constexpr int kTooMuch = 20;
  static constexpr unsigned kSamples = 3;       // in a row, to become distrusted
  static constexpr unsigned kGoodSamples = 10;  // in a row, to become trusted again

  // Drivers average over 2 s and are up to 1.6 s late (measured on an H100, driver 580).
  static constexpr unsigned kAges = 5;

  std::array<int, kAges> charged_{};  // latest first
  unsigned bad_ = 0;
  unsigned good_ = 0;
  bool distrusted_ = false;
  unsigned inconsistent_ = 0;  // consecutive reports
  bool inconsistency_noted_ = false;
};

}  // namespace divvy::agent
