// What the benches of shared cards have in common.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "card_run.h"
#include "report.h"
#include "samples.h"

namespace divvy::bench {

using Say = std::function<void(const std::string&)>;

struct CardBenchPlan {
  bool real = false;    // this machine's own card, one run after the other
  bool quick = false;   // shows that it works, judges nothing
  int slower = 20;      // a simulated card's clock runs this much slower than the host's
  unsigned cards = 64;  // simulated cards side by side
  std::string profile = "h100";
  bool cut_stalls = true;         // time stands still while the machine does
  int seconds = 0;                // of a case, of the card's time; 0: as long as the bench has it
  std::vector<std::string> only;  // cases, by name; empty: all
};

// The products that the benches start.
std::vector<std::string> cardProducts();

// Those of `cases` that the plan wants. Throws std::runtime_error that names what is no case's
// name.
template <typename Case, typename NameOf>
std::vector<Case> wanted(const CardBenchPlan& plan, std::vector<Case> cases, NameOf name_of) {
  std::vector<Case> found;
  for (const std::string& name : plan.only) {
    const auto one = std::find_if(cases.begin(), cases.end(),
                                  [&](const Case& each) { return name_of(each) == name; });
    if (one == cases.end()) throw std::runtime_error("no such case: " + name);
    found.push_back(*one);
  }
  return plan.only.empty() ? cases : found;
}

// Owns the private directory of a bench.
class CardHall {
 public:
  explicit CardHall(const CardBenchPlan& plan);
  ~CardHall();
  CardHall(const CardHall&) = delete;
  CardHall& operator=(const CardHall&) = delete;

  // Slowed down as planned, or not; a real card is what it is.
  CardFloor floor() const;
  CardFloor unscaledFloor() const;
  // All of `plans` on cards side by side; on a real card one after the other.
  std::vector<CardOutcome> run(const std::vector<CardPlan>& plans) const;
  // How often this machine stood still since the hall was opened, and for how long.
  std::string stallNote(Report& report) const;

 private:
  CardBenchPlan plan_;
  CardFloor floor_;
  std::unique_ptr<StallWatch> stalls_;
};

// date, host, driver.
Report headOf(const CardBenchPlan& plan);

// A figure that stands in the JSON only.
Figure detail(std::string group, std::string key, double value);
Figure atMost(std::string group, std::string key, double value, double bar);
Figure atLeast(std::string group, std::string key, double value, double bar);

// wakeup_us/*: how late this machine wakes sleepers, now. Returns a line about it.
std::string addWakeups(Report& report);

// Processor time of a divvied run in percent of a core: of Divvy's threads in its tenants, and of
// the agent's arbiter threads; both per tenant.
struct CpuShare {
  double tenant = 0;
  double arbiter = 0;
};
CpuShare cpuShare(const CardRecord& record);

}  // namespace divvy::bench
