#include "reports/usage_audit.h"

#include <algorithm>

namespace divvy::agent {

std::optional<UsageSample> largestExcess(const std::vector<UsageSample>& samples) {
  const auto largest =
      std::max_element(samples.begin(), samples.end(), [](const auto& one, const auto& other) {
        return one.seen - one.charged < other.seen - other.charged;
      });
  if (largest == samples.end()) return std::nullopt;
  return *largest;
}

bool UsageAudit::compare(int charged, int seen) {
  std::copy_backward(charged_.begin(), charged_.end() - 1, charged_.end());
  charged_[0] = charged;
  int most = charged;
  for (unsigned i = 0; i + 1 < kAges; ++i)
    most = std::max(most, (charged_[i] + charged_[i + 1]) / 2);
  const bool bad = seen >= most + kTooMuch;
  bad_ = bad ? bad_ + 1 : 0;
  good_ = bad ? 0 : good_ + 1;
  const bool before = distrusted_;
  if (bad_ >= kSamples) distrusted_ = true;
  if (good_ >= kGoodSamples) distrusted_ = false;
  return before != distrusted_;
}

bool UsageAudit::noteReport(bool inconsistent, unsigned enough) {
  if (inconsistency_noted_) return false;
  inconsistent_ = inconsistent ? inconsistent_ + 1 : 0;
  inconsistency_noted_ = inconsistent_ >= enough;
  return inconsistency_noted_;
}

}  // namespace divvy::agent
