// What is said in short is what is said at length.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/engine.h"

namespace divvy::engine {

inline void expectBrief(const CompactRefusal& brief, const NodeRefusal& refusal) {
  ASSERT_EQ(brief.node, refusal.node);
  ASSERT_EQ(brief.why, refusal.why) << text(refusal);
  ASSERT_EQ(brief.container, refusal.container) << text(refusal);
  ASSERT_EQ(brief.kind, refusal.kind) << text(refusal);
  const bool devices = refusal.why >= NodeWhy::kTooFew && refusal.why <= NodeWhy::kLinks;
  if (devices) {
    ASSERT_EQ(brief.needed, refusal.needed) << text(refusal);
  }
  if (refusal.why != NodeWhy::kDevices) return;
  std::map<DeviceWhy, unsigned> counts, meant;
  for (const DeviceRefusal& one : refusal.devices) {
    if (one.why == DeviceWhy::kKind) continue;
    ++counts[one.why];
    const bool other = one.why == DeviceWhy::kNotInPool || one.why == DeviceWhy::kModelNotAsked ||
                       one.why == DeviceWhy::kModelExcluded ||
                       one.why == DeviceWhy::kUuidNotAsked || one.why == DeviceWhy::kUuidExcluded;
    if (!other) ++meant[one.why];
  }
  // Of others than were meant there is something to say only where there are no others.
  if (!meant.empty()) counts = meant;
  unsigned most = 0;
  for (const auto& [why, count] : counts) most = std::max(most, count);
  if (counts.empty()) {
    ASSERT_EQ(brief.most, DeviceWhy::kKind);
    return;
  }
  ASSERT_EQ(counts[brief.most], most) << text(DeviceRefusal{{}, brief.most, 0, 0});
  for (const auto& [why, count] : counts) ASSERT_TRUE(count < most || why <= brief.most);
}

// What is kept from one question to the next is what is so now, of any nodes in any order.
inline void expectKept(const Engine& engine, const Request& request,
                       const std::vector<CompactRefusal>& now) {
  std::map<std::string_view, const CompactRefusal*> refused;
  for (const CompactRefusal& one : now) refused.emplace(one.node.text, &one);
  std::vector<NodeName> nodes = engine.nodes();
  std::reverse(nodes.begin(), nodes.end());
  nodes.resize(nodes.size() - nodes.size() / 3);
  std::vector<std::string_view> names{"nobody's"};
  for (const NodeName& node : nodes) names.push_back(node.text);
  const Result<CompactRefusals> kept = engine.compactRefusals(request, names);
  ASSERT_TRUE(kept) << kept.error().message();
  ASSERT_EQ(kept->of.size(), names.size());
  ASSERT_EQ(kept->of[0], CompactRefusals::kUnknown);
  for (std::size_t i = 1; i < names.size(); ++i) {
    const auto no = refused.find(names[i]);
    ASSERT_EQ(kept->of[i] == CompactRefusals::kNone, no == refused.end()) << names[i];
    if (no == refused.end()) continue;
    CompactRefusal brief = kept->different.at(kept->of[i]);
    brief.node = no->second->node;
    ASSERT_EQ(brief, *no->second) << names[i];
  }
}

inline void expectBriefs(const Engine& engine, const Request& request, const Decision& decision) {
  const Result<std::vector<CompactRefusal>> briefs = engine.compactRefusals(request);
  ASSERT_TRUE(briefs) << briefs.error().message();
  ASSERT_EQ(briefs->size(), decision.refusals.size());
  for (std::size_t i = 0; i < briefs->size(); ++i)
    ASSERT_NO_FATAL_FAILURE(expectBrief((*briefs)[i], decision.refusals[i]));
  ASSERT_NO_FATAL_FAILURE(expectKept(engine, request, *briefs));
}

}  // namespace divvy::engine
