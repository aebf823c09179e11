// Requests of kube-scheduler to an extender, and answers to them. Source: the v1 types of the
// scheduler extender. Their members have no JSON names, so they are spelled as in Go. Private.
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

// Arguments of a call. A large cluster has thousands of node names, so they refer to the body.
struct ExtenderArgs {
  kube::Pod pod;
  std::vector<std::string_view> names;
  std::string_view list;         // JSON text of the names
  std::deque<std::string> kept;  // names with escapes in the JSON text, decoded
  // `Nodes` instead of `NodeNames`: a what-if with these nodes; and the JSON text of each.
  bool whole_nodes = false;
  std::vector<kube::Node> nodes;
  std::vector<std::string_view> items;
};

// Parses the body of /filter or /prioritize. `body` outlives the result. kCorrupt names the fault.
Result<ExtenderArgs> parseFilter(std::string_view body);
// Returns the ExtenderFilterResult. For whole nodes it has those in neither `why` nor `never`, as
// they came. For node names each refusal is unresolvable, so that kube-scheduler evicts no pods for
// it.
std::string filterAnswer(const ExtenderArgs& ask, const FilterResult& choice);
// Returns an answer that refuses all nodes with the same message, as unresolvable.
std::string filterNever(const ExtenderArgs& ask, const std::string& message);
// Returns a HostPriorityList with the names in their order. `scores`: one for each name.
std::string prioritizeAnswer(const ExtenderArgs& ask, const std::vector<unsigned>& scores);
// Returns an answer with an error. The pod waits, and its Events have the message.
std::string filterError(const std::string& message);

// Parses the body of /preempt: the pod, and names of nodes on which evictions would help according
// to kube-scheduler. Ignores victims. `body` outlives the result. kCorrupt names the fault.
Result<ExtenderArgs> parsePreempt(std::string_view body);
// Returns an answer by which kube-scheduler evicts no pods.
std::string preemptAnswer();

struct BindingArgs {
  std::string name, namespace_name, uid, node;
};

// Parses the body of /bind. kCorrupt names the fault.
Result<BindingArgs> parseBind(const std::string& body);
// Returns the answer to /bind. `error`: empty: the pod is bound.
std::string bindAnswer(const std::string& error);

}  // namespace divvy::scheduler
