// Collects the findings of one check.
#pragma once

#include <string>
#include <utility>

#include "doctor/finding.h"

namespace divvy::doctor {

// A problem: state, consequence, and action.
struct Problem {
  std::string seen;
  std::string means;
  std::string fix;
};

class FindingBuilder {
 public:
  FindingBuilder(std::string id, FindingScope scope, Findings* out)
      : id_(std::move(id)), scope_(scope), out_(out), begin_(out->size()) {}

  void ok(std::string seen, std::string subject = "") {
    add(FindingState::kOk, {std::move(seen), "", ""}, std::move(subject));
  }
  void skip(std::string why, std::string subject = "") {
    add(FindingState::kSkipped, {std::move(why), "", ""}, std::move(subject));
  }
  void warn(Problem trouble, std::string subject = "") {
    add(FindingState::kWarning, std::move(trouble), std::move(subject));
  }
  void fault(Problem trouble, std::string subject = "") {
    add(FindingState::kFault, std::move(trouble), std::move(subject));
  }

  bool hasFindings() const { return out_->size() > begin_; }
  // Returns whether all findings so far are ok or skipped.
  bool content() const {
    for (std::size_t at = begin_; at < out_->size(); ++at)
      if ((*out_)[at].state == FindingState::kFault || (*out_)[at].state == FindingState::kWarning)
        return false;
    return true;
  }

 private:
  void add(FindingState state, Problem trouble, std::string subject) {
    out_->push_back({id_, scope_, state, std::move(subject), std::move(trouble.seen),
                     std::move(trouble.means), std::move(trouble.fix)});
  }

  std::string id_;
  FindingScope scope_;
  Findings* out_;
  std::size_t begin_;
};

}  // namespace divvy::doctor
