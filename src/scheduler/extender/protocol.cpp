#include "extender/protocol.h"

#include <initializer_list>
#include <map>

#include <boost/json.hpp>

#include "extender/json_scanner.h"
#include "json/path.h"

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

Error about(const char* what, const Error& fault) {
  return {fault.code(), std::string(what) + ' ' + fault.message()};
}

Result<json::value> valueFrom(std::string_view text, const std::string& what) {
  boost::system::error_code fault;
  json::value value = json::parse(json::string_view(text.data(), text.size()), fault);
  if (fault) return Error{ErrorCode::kCorrupt, what + " is not JSON: " + fault.message()};
  return value;
}

Result<void> readPod(std::string_view text, ExtenderArgs* ask) {
  const Result<json::value> pod = valueFrom(text, "Pod");
  if (!pod) return pod.error();
  Result<kube::Pod> parsed = kube::podOf(*pod);
  if (!parsed) return std::move(parsed).error().context("Pod");
  ask->pod = std::move(*parsed);
  return {};
}

// Empty: it is absent or null.
std::string_view memberOf(const std::vector<RawMember>& members, std::string_view name) {
  std::string_view found;
  for (const RawMember& one : members)
    if (one.name == name) found = one.value == "null" ? std::string_view() : one.value;
  return found;
}

// A NodeList.
Result<void> readNodes(std::string_view text, ExtenderArgs* ask) {
  const Result<std::vector<RawMember>> members = outlineOf(text);
  if (!members) return about("Nodes", members.error());
  const std::string_view list = memberOf(*members, "items");
  if (list.empty()) return {};
  Result<std::vector<std::string_view>> items = itemsOf(list);
  if (!items) return about("Nodes.items", items.error());
  for (const std::string_view item : *items) {
    const std::string place = "Nodes.items[" + std::to_string(ask->nodes.size()) + ']';
    const Result<json::value> value = valueFrom(item, place);
    if (!value) return value.error();
    Result<kube::Node> node = kube::nodeOf(*value);
    if (!node) return std::move(node).error().context(place);
    ask->nodes.push_back(std::move(*node));
  }
  ask->items = std::move(*items);
  return {};
}

void append(std::string_view text, std::string* out) {
  constexpr char kDigits[] = "0123456789abcdef";
  *out += '"';
  std::size_t told = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out->append(text, told, at - told);
    told = at + 1;
    *out += '\\';
    if (c >= 0x20) {
      *out += text[at];
      continue;
    }
    *out += "u00";
    *out += kDigits[c >> 4];
    *out += kDigits[c & 15];
  }
  out->append(text, told);
  *out += '"';
}

// Mostly the next has the same reason: its text is made once.
void append(std::initializer_list<const Reasons*> lists, std::string* out) {
  *out += '{';
  const Reason* last = nullptr;
  std::string text;
  for (const Reasons* reasons : lists) {
    for (const auto& [name, why] : *reasons) {
      if (out->back() != '{') *out += ',';
      append(name, out);
      *out += ':';
      if (last == nullptr || !last->sameText(why)) {
        text.clear();
        append(why.text(), &text);
        last = &why;
      }
      *out += text;
    }
  }
  *out += '}';
}

void appendFitting(const ExtenderArgs& ask, const FilterResult& choice, std::string* out) {
  *out += '[';
  const auto refused = choice.why.nodes(), never = choice.never.nodes();
  for (std::size_t at = 0; at < ask.nodes.size(); ++at) {
    const std::string& name = ask.nodes[at].meta.name;
    if (refused.contains(name) || never.contains(name)) continue;
    if (out->back() != '[') *out += ',';
    *out += ask.items[at];
  }
  *out += ']';
}

}  // namespace

Result<ExtenderArgs> parseFilter(std::string_view body) {
  const Result<std::vector<RawMember>> members = outlineOf(body);
  if (!members) return about("the body", members.error());
  ExtenderArgs ask;
  const std::string_view pod = memberOf(*members, "Pod");
  if (pod.empty()) return Error{ErrorCode::kCorrupt, "Pod is missing"};
  const Result<void> read = readPod(pod, &ask);
  if (!read) return read.error();
  ask.list = memberOf(*members, "NodeNames");
  ask.whole_nodes = ask.list.empty();
  if (ask.whole_nodes) {
    const std::string_view nodes = memberOf(*members, "Nodes");
    if (nodes.empty()) return Error{ErrorCode::kCorrupt, "NodeNames and Nodes are missing"};
    const Result<void> told = readNodes(nodes, &ask);
    if (!told) return told.error();
    return ask;
  }
  Result<std::vector<std::string_view>> names = textsOf(ask.list, &ask.kept);
  if (!names) return about("NodeNames", names.error());
  ask.names = std::move(*names);
  return ask;
}

Result<ExtenderArgs> parsePreempt(std::string_view body) {
  const Result<std::vector<RawMember>> members = outlineOf(body);
  if (!members) return about("the body", members.error());
  ExtenderArgs ask;
  const std::string_view pod = memberOf(*members, "Pod");
  if (pod.empty()) return Error{ErrorCode::kCorrupt, "Pod is missing"};
  const Result<void> read = readPod(pod, &ask);
  if (!read) return read.error();
  for (const char* form : {"NodeNameToMetaVictims", "NodeNameToVictims"}) {
    const std::string_view nodes = memberOf(*members, form);
    if (nodes.empty()) continue;
    const Result<std::vector<RawMember>> named = outlineOf(nodes);
    if (!named) return about(form, named.error());
    for (const RawMember& one : *named) ask.names.push_back(one.name);
  }
  return ask;
}

std::string preemptAnswer() {
  return R"({"NodeNameToMetaVictims":{}})";
}

std::string filterAnswer(const ExtenderArgs& ask, const FilterResult& choice) {
  std::string answer = "{\"NodeNames\":";
  if (ask.whole_nodes) {
    answer += "null,\"Nodes\":{\"metadata\":{},\"items\":";
    appendFitting(ask, choice, &answer);
    answer += '}';
  } else if (choice.ours) {
    answer += '[';
    if (choice.node) append(*choice.node, &answer);
    for (const std::string& name : choice.fitting) {
      if (answer.back() != '[') answer += ',';
      append(name, &answer);
    }
    answer += ']';
  } else {
    answer += ask.list;
  }
  // kube-scheduler's preemption knows nothing of devices, and is not to try there: we do.
  const Reasons none;
  answer += ",\"FailedNodes\":";
  append({ask.whole_nodes ? &choice.why : &none}, &answer);
  answer += ",\"FailedAndUnresolvableNodes\":";
  append({&choice.never, ask.whole_nodes ? &none : &choice.why}, &answer);
  return answer + ",\"Error\":\"\"}";
}

std::string filterNever(const ExtenderArgs& ask, const std::string& message) {
  FilterResult choice;
  choice.ours = true;
  for (const std::string_view name : ask.names) choice.never.emplace(name, message);
  for (const kube::Node& node : ask.nodes) choice.never.emplace(node.meta.name, message);
  return filterAnswer(ask, choice);
}

std::string prioritizeAnswer(const ExtenderArgs& ask, const std::vector<unsigned>& scores) {
  std::string answer = "[";
  for (std::size_t at = 0; at < ask.names.size(); ++at) {
    if (at > 0) answer += ',';
    answer += "{\"Host\":";
    append(ask.names[at], &answer);
    answer += ",\"Score\":" + std::to_string(scores[at]) + '}';
  }
  return answer + ']';
}

std::string filterError(const std::string& message) {
  return json::serialize(json::object{{"Error", message}});
}

Result<BindingArgs> parseBind(const std::string& body) {
  const Result<json::value> said = parse(body);
  if (!said) return said.error();
  BindingArgs ask;
  const auto text = [&](const char* name, std::string* out) {
    const json::value* found = presentAt(*said, {name});
    if (found != nullptr && found->is_string()) *out = found->get_string();
    return !out->empty();
  };
  for (const auto& [name, out] :
       {std::pair{"PodName", &ask.name}, std::pair{"PodNamespace", &ask.namespace_name},
        std::pair{"PodUID", &ask.uid}, std::pair{"Node", &ask.node}})
    if (!text(name, out)) return Error{ErrorCode::kCorrupt, std::string("missing: ") + name};
  return ask;
}

std::string bindAnswer(const std::string& error) {
  return json::serialize(json::object{{"Error", error}});
}

}  // namespace divvy::scheduler
