// The cases in which shares of a card are judged.
#pragma once

#include <string>
#include <vector>

#include "card_run.h"

namespace divvy::bench {

enum class CaseKind {
  kShare,  // everybody wants the card all the time
  kCap,    // one tenant that may not use more
  kDuty,   // the second one wants the card half of the time, in long turns
};

struct ShareTenant {
  std::vector<std::string> load;  // kind and options, without --seconds
  double cores = 0;               // percent: weight or cap
};

struct ShareCase {
  std::string name;
  CaseKind kind = CaseKind::kShare;
  double longest_ms = 1;  // that a tenant occupies the card without a pause between kernels
  std::vector<ShareTenant> tenants;
};

// The shares that are held to a bar have kernels up to this.
inline constexpr double kJudgedMs = 20;

std::vector<ShareCase> shareCases();
// The few that show that a bench works.
std::vector<ShareCase> quickShareCases();

// `seconds` of the card's time, under Divvy or bare.
CardPlan planOf(const ShareCase& one, bool divvied, double seconds);
// A load alone and bare.
CardPlan soloPlan(const std::string& name, const std::vector<std::string>& load, double seconds);

}  // namespace divvy::bench
