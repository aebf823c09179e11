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
  FindingBuilder(std::string id, Scope scope, Findings* out)
      : id_(std::move(id)), scope_(scope), out_(out), begin_(out->size()) {}

  void ok(std::string seen, std::string subject = "") {
    add(State::kOk, {std::move(seen), "", ""}, std::move(subject));
  }
  void skip(std::string why, std::string subject = "") {
    add(State::kSkipped, {std::move(why), "", ""}, std::move(subject));
  }
  void warn(Problem trouble, std::string subject = "") {
    add(State::kWarning, std::move(trouble), std::move(subject));
  }
  void fault(Problem trouble, std::string subject = "") {
    add(State::kFault, std::move(trouble), std::move(subject));
  }

  bool said() const { return out_->size() > begin_; }
  // Returns whether all findings so far are ok or skipped.
  bool content() const {
    for (std::size_t at = begin_; at < out_->size(); ++at)
      if ((*out_)[at].state == State::kFault || (*out_)[at].state == State::kWarning) return false;
    return true;
  }

 private:
  void add(State state, Problem trouble, std::string subject) {
    out_->push_back({id_, scope_, state, std::move(subject), std::move(trouble.seen),
                     std::move(trouble.means), std::move(trouble.fix)});
  }

  std::string id_;
  Scope scope_;
  Findings* out_;
  std::size_t begin_;
};

}  // namespace divvy::doctor
