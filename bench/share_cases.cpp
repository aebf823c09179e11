#include "share_cases.h"

#include <cmath>

namespace divvy::bench {
namespace {

using Words = std::vector<std::string>;

Words kernels(const char* micros) {
  return {"steady", "--unit-us", micros};
}

const Words kStreams = {"steady", "--unit-us", "1000", "--streams", "4"};
const Words kGraphs = {"graph", "--unit-us", "200000", "--launches", "40"};
const Words kGaps = {"gaps", "--unit-us", "100", "--gap-us", "100"};
const Words kDuty = {"duty", "--unit-us", "1000", "--on", "2", "--off", "2"};

ShareCase cap(double percent) {
  const std::string name = "cap" + std::to_string(std::lround(percent));
  return {name, CaseKind::kCap, 1, {{kernels("1000"), percent}}};
}

std::string cores(double percent) {
  return std::to_string(std::lround(percent));
}

}  // namespace

std::vector<ShareCase> shareCases() {
  const Words k005 = kernels("50");
  const Words k02 = kernels("200");
  const Words k03 = kernels("300");
  const Words k1 = kernels("1000");
  const Words k20 = kernels("20000");
  return {
      {"k005_30_70", CaseKind::kShare, 0.05, {{k005, 30}, {k005, 70}}},
      {"k1_30_70", CaseKind::kShare, 1, {{k1, 30}, {k1, 70}}},
      {"k20_30_70", CaseKind::kShare, 20, {{k20, 30}, {k20, 70}}},
      {"k1_50_50", CaseKind::kShare, 1, {{k1, 50}, {k1, 50}}},
      {"k1_10_20_70", CaseKind::kShare, 1, {{k1, 10}, {k1, 20}, {k1, 70}}},
      {"k1_10x10", CaseKind::kShare, 1, std::vector<ShareTenant>(10, {k1, 10})},
      {"mixed_30_70", CaseKind::kShare, 20, {{k20, 30}, {k03, 70}}},
      {"mixed_10_20_70", CaseKind::kShare, 20, {{k20, 10}, {k1, 20}, {k03, 70}}},
      {"streams4_30_70", CaseKind::kShare, 1, {{kStreams, 30}, {kStreams, 70}}},
      {"gaps_50_50", CaseKind::kShare, 1, {{kGaps, 50}, {k1, 50}}},
      {"over_60_90", CaseKind::kShare, 1, {{k1, 60}, {k1, 90}}},
      {"graph200_30_70", CaseKind::kShare, 200, {{kGraphs, 30}, {k02, 70}}},
      cap(20),
      cap(50),
      cap(80),
      {"duty_50_50", CaseKind::kDuty, 1, {{k1, 50}, {kDuty, 50}}},
  };
}

std::vector<ShareCase> quickShareCases() {
  const Words k1 = kernels("1000");
  const Words duty = {"duty", "--unit-us", "1000", "--on", "0.3", "--off", "0.3"};
  return {
      {"k1_30_70", CaseKind::kShare, 1, {{k1, 30}, {k1, 70}}},
      {"gaps_50_50", CaseKind::kShare, 1, {{kGaps, 50}, {k1, 50}}},
      cap(50),
      {"duty_50_50", CaseKind::kDuty, 1, {{k1, 50}, {duty, 50}}},
  };
}

CardPlan planOf(const ShareCase& one, bool divvied, double seconds) {
  CardPlan plan{one.name + (divvied ? "-divvy" : "-timeslice"), {}, divvied, seconds};
  for (const ShareTenant& tenant : one.tenants) {
    CardTenant entry{"t" + std::to_string(plan.tenants.size()), tenant.load, {}};
    entry.load.insert(entry.load.end(), {"--seconds", std::to_string(seconds)});
    entry.share = {"--cores", cores(tenant.cores)};
    if (one.kind == CaseKind::kCap) {
      entry.share.insert(entry.share.end(), {"--cores-policy", "cap"});
    }
    plan.tenants.push_back(std::move(entry));
  }
  return plan;
}

CardPlan soloPlan(const std::string& name, const std::vector<std::string>& load, double seconds) {
  CardTenant entry{name, load, {}};
  entry.load.insert(entry.load.end(), {"--seconds", std::to_string(seconds)});
  return {name, {entry}, false, seconds};
}

}  // namespace divvy::bench
