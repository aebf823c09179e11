// Changes to the charges of queues, for the time of one decision. Pure. Private.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quota/queue_tree.h"

namespace divvy::scheduler {

// Charges and discharges pods in `queues` and restores all charges when it is destroyed. A copy of
// the tree per decision would cost as much as the decision. Not thread-safe: nothing else may use
// `queues` for charges of pods named here while it exists. `queues` outlives it.
class QuotaOverlay {
 public:
  explicit QuotaOverlay(QueueTree& queues) : queues_(queues) {}
  ~QuotaOverlay();
  QuotaOverlay(const QuotaOverlay&) = delete;
  QuotaOverlay& operator=(const QuotaOverlay&) = delete;

  // Discharges a pod. A pod that is not charged stays so.
  void without(const std::string& uid);
  // Charges a pod again that without() discharged.
  void again(const std::string& uid);
  // Charges `name`, which is not the UID of a charged pod.
  void with(const std::string& name, QueueTree::QueueCharge held);

 private:
  QueueTree& queues_;
  std::map<std::string, QueueTree::QueueCharge> taken_;  // by UID
  std::vector<std::string> added_;
};

}  // namespace divvy::scheduler
