// What kube-scheduler asks an extender, and what it is answered. Source: the scheduler extender's
// v1 types, whose members have no JSON names of their own: they are written as in Go. Private.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/pod.h"
#include "scheduler/books.h"

namespace divvy::scheduler {

struct FilterAsk {
  kube::Pod pod;
  std::vector<std::string> names;
  bool whole_nodes = false;  // `Nodes` instead of `NodeNames`
};

Result<FilterAsk> parseFilter(const std::string& body);
std::string filterAnswer(const std::vector<std::string>& names, const Choice& choice);
// The pod waits, with that in its events.
std::string filterError(const std::string& message);

struct BindAsk {
  std::string name, space, uid, node;
};

Result<BindAsk> parseBind(const std::string& body);
std::string bindAnswer(const std::string& error);  // empty: it is bound

}  // namespace divvy::scheduler
