// What kube-scheduler asks an extender, and what it is answered. Source: the scheduler extender's
// v1 types, whose members have no JSON names of their own: they are written as in Go. Private.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/node.h"
#include "kube/pod.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// Of a large cluster there are thousands of names: they stay where they are, in the body.
struct ExtenderArgs {
  kube::Pod pod;
  std::vector<std::string_view> names;
  std::string_view list;         // those names, as they were written
  std::deque<std::string> kept;  // names that are not written as they are
  // `Nodes` instead of `NodeNames`: what would be, were they so; and as they were written.
  bool whole_nodes = false;
  std::vector<kube::Node> nodes;
  std::vector<std::string_view> items;
};

// `body` outlives it.
Result<ExtenderArgs> parseFilter(std::string_view body);
// Of whole nodes all that are refused in neither way, as they came. To kube-scheduler all refusals
// are for good: who has to end for a pod with devices is not its business.
std::string filterAnswer(const ExtenderArgs& ask, const FilterResult& choice);
// The same for every node, and nothing that ends there helps.
std::string filterNever(const ExtenderArgs& ask, const std::string& message);
// A HostPriorityList: of each name, as they were asked for.
std::string prioritizeAnswer(const ExtenderArgs& ask, const std::vector<unsigned>& scores);
// The pod waits, with that in its events.
std::string filterError(const std::string& message);

// Where pods of lower priority would have to end for the pod, by what kube-scheduler knows: of the
// names nothing else is read. `body` outlives it.
Result<ExtenderArgs> parsePreempt(std::string_view body);
// kube-scheduler makes none of them end.
std::string preemptAnswer();

struct BindingArgs {
  std::string name, space, uid, node;
};

Result<BindingArgs> parseBind(const std::string& body);
std::string bindAnswer(const std::string& error);  // empty: it is bound

}  // namespace divvy::scheduler
