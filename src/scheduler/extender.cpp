#include "extender.h"

#include <boost/json.hpp>

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

Result<json::value> parse(const std::string& body) {
  boost::system::error_code fault;
  json::value said = json::parse(body, fault);
  if (fault) return Error{ErrorCode::kCorrupt, "the body is not JSON: " + fault.message()};
  if (!said.is_object()) return Error{ErrorCode::kCorrupt, "the body is not an object"};
  return said;
}

const json::value* find(const json::value& object, const char* name) {
  const json::value* found = object.get_object().if_contains(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

Result<std::vector<std::string>> namesOf(const json::value& list) {
  std::vector<std::string> names;
  if (!list.is_array()) return Error{ErrorCode::kCorrupt, "NodeNames is not a list"};
  names.reserve(list.get_array().size());
  for (const json::value& one : list.get_array()) {
    if (!one.is_string()) return Error{ErrorCode::kCorrupt, "NodeNames holds what is no text"};
    names.emplace_back(one.get_string());
  }
  return names;
}

json::object mapOf(const std::map<std::string, std::string>& from) {
  json::object object;
  for (const auto& [key, value] : from) object[key] = value;
  return object;
}

}  // namespace

Result<FilterAsk> parseFilter(const std::string& body) {
  const Result<json::value> said = parse(body);
  if (!said) return said.error();
  FilterAsk ask;
  const json::value* pod = find(*said, "Pod");
  if (pod == nullptr) return Error{ErrorCode::kCorrupt, "there is no Pod"};
  Result<kube::Pod> parsed = kube::podOf(*pod);
  if (!parsed) return std::move(parsed).error().context("Pod");
  ask.pod = std::move(*parsed);
  if (const json::value* list = find(*said, "NodeNames")) {
    Result<std::vector<std::string>> names = namesOf(*list);
    if (!names) return names.error();
    ask.names = std::move(*names);
    return ask;
  }
  if (find(*said, "Nodes") == nullptr)
    return Error{ErrorCode::kCorrupt, "there are neither NodeNames nor Nodes"};
  ask.whole_nodes = true;
  return ask;
}

std::string filterAnswer(const std::vector<std::string>& names, const Choice& choice) {
  json::object answer;
  json::array good;
  if (!choice.ours) {
    for (const std::string& name : names) good.emplace_back(name);
  } else if (choice.node) {
    good.emplace_back(*choice.node);
  }
  answer["NodeNames"] = std::move(good);
  answer["FailedNodes"] = mapOf(choice.why);
  answer["FailedAndUnresolvableNodes"] = mapOf(choice.never);
  answer["Error"] = "";
  return json::serialize(answer);
}

std::string filterError(const std::string& message) {
  return json::serialize(json::object{{"Error", message}});
}

Result<BindAsk> parseBind(const std::string& body) {
  const Result<json::value> said = parse(body);
  if (!said) return said.error();
  BindAsk ask;
  const auto text = [&](const char* name, std::string* out) {
    const json::value* found = find(*said, name);
    if (found != nullptr && found->is_string()) *out = found->get_string();
    return !out->empty();
  };
  for (const auto& [name, out] :
       {std::pair{"PodName", &ask.name}, std::pair{"PodNamespace", &ask.space},
        std::pair{"PodUID", &ask.uid}, std::pair{"Node", &ask.node}})
    if (!text(name, out)) return Error{ErrorCode::kCorrupt, std::string("there is no ") + name};
  return ask;
}

std::string bindAnswer(const std::string& error) {
  return json::serialize(json::object{{"Error", error}});
}

}  // namespace divvy::scheduler
