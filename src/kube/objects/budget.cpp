#include "kube/budget.h"

#include <algorithm>

#include "objects/read_meta.h"

namespace divvy::kube {
namespace {

bool holds(const Requirement& one, const Labels& of) {
  const auto found = of.find(one.key);
  const bool there = found != of.end();
  const bool listed =
      there && std::find(one.values.begin(), one.values.end(), found->second) != one.values.end();
  switch (one.word) {
    case SelectorWord::kIn:
      return listed;
    case SelectorWord::kNotIn:
      return !listed;
    case SelectorWord::kExists:
      return there;
    case SelectorWord::kAbsent:
      return !there;
  }
  return false;
}

void readRequirement(Members& from, Requirement* out) {
  from.text("key", &out->key);
  std::string word;
  from.text("operator", &word);
  if (word == "In") {
    out->word = SelectorWord::kIn;
  } else if (word == "NotIn") {
    out->word = SelectorWord::kNotIn;
  } else if (word == "Exists") {
    out->word = SelectorWord::kExists;
  } else if (word == "DoesNotExist") {
    out->word = SelectorWord::kAbsent;
  } else {
    from.fail("operator", "In, NotIn, Exists or DoesNotExist");
  }
  const json::value* values = from.find("values");
  if (values == nullptr) return;
  if (!values->is_array()) return from.fail("values", "a list");
  for (const json::value& one : values->get_array()) {
    if (!one.is_string()) return from.fail("values", "a list of texts");
    out->values.emplace_back(one.get_string());
  }
}

}  // namespace

bool DisruptionBudget::covers(const std::string& namespace_name, const Labels& of) const {
  return selects && namespace_name == meta.namespace_name &&
         std::all_of(labels.begin(), labels.end(),
                     [&](const Requirement& one) { return holds(one, of); });
}

Result<DisruptionBudget> budgetOf(const json::value& object) {
  Members members(object, "");
  DisruptionBudget budget;
  readMeta(members, &budget.meta);
  members.in("spec", [&](Members& spec) {
    spec.in("selector", [&](Members& selector) {
      budget.selects = true;
      Labels same;
      selector.texts("matchLabels", &same);
      for (const auto& [key, value] : same)
        budget.labels.push_back({key, SelectorWord::kIn, {value}});
      selector.each("matchExpressions",
                    [&](Members& one) { readRequirement(one, &budget.labels.emplace_back()); });
    });
  });
  members.in("status",
             [&](Members& status) { status.number("disruptionsAllowed", &budget.allowed); });
  if (!members.ok()) return members.error();
  return budget;
}

}  // namespace divvy::kube
