#include "kubernetes/kube_filters.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/quantity.h"
#include "json/path.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

// An API server accepts only quantities; another text counts as 0.
std::int64_t milliOf(const json::value& amount) {
  if (amount.is_int64()) return amount.get_int64() * 1000;
  if (!amount.is_string()) return 0;
  const Result<Quantity> quantity = Quantity::parse(std::string(amount.get_string()));
  return quantity ? quantity->milli() : 0;
}

std::string textOrNothing(const json::value* value) {
  return value == nullptr || !value->is_string() ? "" : std::string(value->get_string());
}

bool holds(const json::array& list, const std::string& text) {
  return std::any_of(list.begin(), list.end(), [&](const json::value& one) {
    return one.is_string() && std::string_view(one.get_string()) == text;
  });
}

bool tolerates(const json::value& toleration, const json::value& taint) {
  const std::string effect = textAt(toleration, {"effect"});
  if (!effect.empty() && effect != textAt(taint, {"effect"})) return false;
  const std::string key = textAt(toleration, {"key"});
  const bool exists = textAt(toleration, {"operator"}) == "Exists";
  if (key.empty()) return exists;
  if (key != textAt(taint, {"key"})) return false;
  return exists || textAt(toleration, {"value"}) == textAt(taint, {"value"});
}

// The taint that refuses the pod; empty: none.
std::string taintOf(const json::value& spec, const json::value& pod) {
  const json::array& tolerations = listAt(pod, {"spec", "tolerations"});
  for (const json::value& taint : listAt(spec, {"taints"})) {
    if (textAt(taint, {"effect"}) == "PreferNoSchedule") continue;
    const bool let = std::any_of(tolerations.begin(), tolerations.end(),
                                 [&](const json::value& one) { return tolerates(one, taint); });
    if (!let) return textAt(taint, {"key"});
  }
  return "";
}

bool compares(const std::string& label, const json::array& values, bool greater) {
  const auto number = [](const std::string& text, std::int64_t* out) {
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), *out);
    return fault == std::errc{} && end == text.data() + text.size();
  };
  std::int64_t has = 0;
  std::int64_t wants = 0;
  if (values.size() != 1 || !values[0].is_string()) return false;
  if (!number(label, &has) || !number(std::string(values[0].get_string()), &wants)) return false;
  return greater ? has > wants : has < wants;
}

bool matches(const json::value& expression, const json::object& labels) {
  const std::string key = textAt(expression, {"key"});
  const std::string how = textAt(expression, {"operator"});
  const json::array& values = listAt(expression, {"values"});
  const json::value* label = labels.if_contains(key);
  const std::string text = textOrNothing(label);
  if (how == "In") return label != nullptr && holds(values, text);
  if (how == "NotIn") return label == nullptr || !holds(values, text);
  if (how == "Exists") return label != nullptr;
  if (how == "DoesNotExist") return label == nullptr;
  return label != nullptr && compares(text, values, how == "Gt");
}

bool selects(const json::value& term, const json::object& labels, const std::string& name) {
  const json::array& expressions = listAt(term, {"matchExpressions"});
  const json::array& fields = listAt(term, {"matchFields"});
  if (expressions.empty() && fields.empty()) return false;
  const json::object named{{"metadata.name", name}};
  return std::all_of(expressions.begin(), expressions.end(),
                     [&](const json::value& one) { return matches(one, labels); }) &&
         std::all_of(fields.begin(), fields.end(),
                     [&](const json::value& one) { return matches(one, named); });
}

bool isSelected(const json::value& pod, const json::object& labels, const std::string& name) {
  for (const auto& [key, value] : objectAt(pod, {"spec", "nodeSelector"})) {
    const json::value* label = labels.if_contains(key);
    if (label == nullptr || *label != value) return false;
  }
  const char* required = "requiredDuringSchedulingIgnoredDuringExecution";
  const json::value* affinity = presentAt(pod, {"spec", "affinity", "nodeAffinity", required});
  if (affinity == nullptr) return true;
  const json::array& terms = listAt(*affinity, {"nodeSelectorTerms"});
  return std::any_of(terms.begin(), terms.end(),
                     [&](const json::value& term) { return selects(term, labels, name); });
}

}  // namespace

std::map<std::string, std::int64_t> KubeFilters::requestsOf(const json::value& pod) const {
  const auto of = [&](const json::value& container) {
    Amounts amounts;
    const json::object& requests = objectAt(container, {"resources", "requests"});
    for (const auto& [name, amount] : objectAt(container, {"resources", "limits"}))
      if (requests.if_contains(name) == nullptr) amounts[std::string(name)] = milliOf(amount);
    for (const auto& [name, amount] : requests) amounts[std::string(name)] = milliOf(amount);
    return amounts;
  };
  const auto add = [](Amounts* to, const Amounts& more) {
    for (const auto& [name, amount] : more) (*to)[name] += amount;
  };
  const auto atLeast = [](Amounts* to, const Amounts& other) {
    for (const auto& [name, amount] : other) (*to)[name] = std::max((*to)[name], amount);
  };
  Amounts all;
  Amounts beside;  // sidecars continue
  Amounts most;
  for (const json::value& one : listAt(pod, {"spec", "initContainers"})) {
    Amounts here = of(one);
    add(&here, beside);
    atLeast(&most, here);
    if (textAt(one, {"restartPolicy"}) == "Always") beside = std::move(here);
  }
  for (const json::value& one : listAt(pod, {"spec", "containers"})) add(&all, of(one));
  add(&all, beside);
  atLeast(&all, most);
  for (const auto& [name, amount] : objectAt(pod, {"spec", "overhead"}))
    all[std::string(name)] += milliOf(amount);
  std::erase_if(all, [&](const auto& one) { return one.second == 0 || ours_(one.first); });
  all["pods"] = 1000;
  return all;
}

void KubeFilters::charge(const PodUsage& taken, int sign) {
  Amounts& used = used_[taken.node];
  for (const auto& [name, amount] : taken.amounts) used[name] += sign * amount;
}

std::int64_t KubeFilters::left(const std::string& node, const std::string& resource) const {
  const auto amountOf = [&](const Amounts& amounts) {
    const auto found = amounts.find(resource);
    return found == amounts.end() ? 0 : found->second;
  };
  const auto used = used_.find(node);
  return amountOf(nodes_.at(node).allocatable) - (used == used_.end() ? 0 : amountOf(used->second));
}

void KubeFilters::setNode(const json::value& node) {
  Node& known = nodes_[textAt(node, {"metadata", "name"})];
  // The storage of an event ends with it.
  known.spec = json::value(objectAt(node, {"spec"}), json::storage_ptr());
  known.labels = json::object(objectAt(node, {"metadata", "labels"}), json::storage_ptr());
  known.allocatable.clear();
  for (const auto& [name, amount] : objectAt(node, {"status", "allocatable"}))
    known.allocatable[std::string(name)] = milliOf(amount);
}

void KubeFilters::removeNode(const std::string& name) {
  nodes_.erase(name);
}

void KubeFilters::setPod(const json::value& pod, const std::string& node) {
  const std::string uid = textAt(pod, {"metadata", "uid"});
  endPod(uid);
  PodUsage& taken = taken_[uid];
  taken = {node, requestsOf(pod)};
  charge(taken, 1);
}

void KubeFilters::endPod(const std::string& uid) {
  const auto known = taken_.find(uid);
  if (known == taken_.end()) return;
  charge(known->second, -1);
  taken_.erase(known);
}

std::vector<std::string> KubeFilters::nodes() const {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_) names.push_back(name);
  return names;
}

std::string KubeFilters::whyNot(const json::value& pod, const std::string& node,
                                FullNodes full) const {
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return "no such node";
  const json::value* closed = memberAt(known->second.spec, {"unschedulable"});
  const std::string taint = taintOf(known->second.spec, pod);
  // Cordoning also adds a taint; a pod that tolerates it is accepted.
  const bool open = closed == nullptr || !closed->is_bool() || !closed->get_bool();
  if (!open && taint.empty() && listAt(known->second.spec, {"taints"}).empty()) return "cordoned";
  if (!taint.empty())
    return taint == "node.kubernetes.io/unschedulable" ? "cordoned" : "has the taint " + taint;
  if (!isSelected(pod, known->second.labels, node))
    return "does not match the pod's node selector or affinity";
  for (const auto& [name, amount] : requestsOf(pod)) {
    const bool clearable = name == "cpu" || name == "memory" || name == "pods";
    if (clearable && full == FullNodes::kClearable) continue;
    if (amount > left(node, name)) return "too little " + name;
  }
  return "";
}

}  // namespace divvy::cli
