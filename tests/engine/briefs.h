// What is said in short is what is said at length.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/engine.h"

namespace divvy::engine {

inline void expectBrief(const NodeBrief& brief, const NodeRefusal& refusal) {
  ASSERT_EQ(brief.node, refusal.node);
  ASSERT_EQ(brief.why, refusal.why) << text(refusal);
  ASSERT_EQ(brief.container, refusal.container) << text(refusal);
  ASSERT_EQ(brief.kind, refusal.kind) << text(refusal);
  const bool devices = refusal.why >= NodeWhy::kTooFew && refusal.why <= NodeWhy::kLinks;
  if (devices) {
    ASSERT_EQ(brief.needed, refusal.needed) << text(refusal);
  }
  if (refusal.why != NodeWhy::kDevices) return;
  std::map<DeviceWhy, unsigned> counts;
  unsigned most = 0;
  for (const DeviceRefusal& one : refusal.devices)
    if (one.why != DeviceWhy::kKind) most = std::max(most, ++counts[one.why]);
  if (counts.empty()) {
    ASSERT_EQ(brief.most, DeviceWhy::kKind);
    return;
  }
  ASSERT_EQ(counts[brief.most], most) << text(DeviceRefusal{{}, brief.most, 0, 0});
  for (const auto& [why, count] : counts) ASSERT_TRUE(count < most || why <= brief.most);
}

inline void expectBriefs(const Engine& engine, const Request& request, const Decision& decision) {
  const Result<std::vector<NodeBrief>> briefs = engine.briefs(request);
  ASSERT_TRUE(briefs) << briefs.error().message();
  ASSERT_EQ(briefs->size(), decision.refusals.size());
  for (std::size_t i = 0; i < briefs->size(); ++i)
    ASSERT_NO_FATAL_FAILURE(expectBrief((*briefs)[i], decision.refusals[i]));
}

}  // namespace divvy::engine
