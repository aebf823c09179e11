#include "fake_patch.h"

#include <algorithm>
#include <charconv>

#include <boost/json.hpp>

namespace divvy::test {
namespace {

namespace json = boost::json;

// Member by which a strategic merge patch and an apply identify the elements of a list; null: it is
// replaced.
const char* mergeKeyOf(std::string_view list) {
  if (list == "conditions") return "type";
  if (list == "schedulingGates" || list == "admissionChecks") return "name";
  return nullptr;
}

enum class Merge { kPlain, kStrategic };

void merge(json::object& into, const json::object& patch, Merge how);

void mergeList(json::array& into, const json::array& patch, const char* key) {
  for (const json::value& one : patch) {
    json::object element = one.as_object();
    const json::value id = element.at(key);
    const auto same = [&](const json::value& other) { return other.at(key) == id; };
    const json::value* order = element.if_contains("$patch");
    const bool deletes = order != nullptr && *order == json::value("delete");
    const auto found = std::find_if(into.begin(), into.end(), same);
    if (deletes) {
      if (found != into.end()) into.erase(found);
    } else if (found == into.end()) {
      into.push_back(std::move(element));
    } else {
      merge(found->as_object(), element, Merge::kStrategic);
    }
  }
}

void merge(json::object& into, const json::object& patch, Merge how) {
  for (const auto& [key, value] : patch) {
    const char* id = how == Merge::kStrategic ? mergeKeyOf(key) : nullptr;
    if (value.is_null()) {
      into.erase(key);
    } else if (value.is_object()) {
      json::value& there = into[key];
      if (!there.is_object()) there.emplace_object();
      merge(there.get_object(), value.get_object(), how);
    } else if (value.is_array() && id != nullptr) {
      json::value& there = into[key];
      if (!there.is_array()) there.emplace_array();
      mergeList(there.get_array(), value.get_array(), id);
      if (there.get_array().empty()) into.erase(key);
    } else {
      into[key] = value;
    }
  }
}

// RFC 6901: "~1" is '/', "~0" is '~'.
std::string unescaped(std::string text) {
  for (std::size_t at; (at = text.find("~1")) != std::string::npos;) text.replace(at, 2, "/");
  for (std::size_t at; (at = text.find("~0")) != std::string::npos;) text.replace(at, 2, "~");
  return text;
}

// The parent of what `path` names, and its name there. Null: there is none.
json::value* parentOf(json::value* object, std::string_view path, std::string* name) {
  json::value* at = object;
  if (path.empty() || path.front() != '/') return nullptr;
  for (;;) {
    path.remove_prefix(1);
    const std::size_t end = path.find('/');
    *name = unescaped(std::string(path.substr(0, end)));
    if (end == std::string_view::npos) return at;
    path.remove_prefix(end);
    if (json::object* inside = at->if_object()) {
      at = inside->if_contains(*name);
    } else if (json::array* list = at->if_array()) {
      std::size_t index = list->size();
      std::from_chars(name->data(), name->data() + name->size(), index);
      at = list->if_contains(index);
    } else {
      at = nullptr;
    }
    if (at == nullptr) return nullptr;
  }
}

bool applyToList(json::array& list, const std::string& op, const std::string& name,
                 const json::value& value) {
  std::size_t index = list.size();
  if (name != "-") std::from_chars(name.data(), name.data() + name.size(), index);
  if (op == "add") {
    if (index > list.size()) return false;
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(index), value);
    return true;
  }
  if (index >= list.size()) return false;
  if (op == "test") return list[index] == value;
  if (op == "replace") list[index] = value;
  if (op == "remove") list.erase(list.begin() + static_cast<std::ptrdiff_t>(index));
  return op == "replace" || op == "remove";
}

bool applyStep(const json::object& step, json::value* object) {
  const std::string op(step.at("op").as_string());
  const json::value* given = step.if_contains("value");
  const json::value value = given == nullptr ? json::value() : *given;
  std::string name;
  json::value* parent = parentOf(object, std::string(step.at("path").as_string()), &name);
  if (parent == nullptr) return false;
  if (json::array* list = parent->if_array()) return applyToList(*list, op, name, value);
  json::object* inside = parent->if_object();
  if (inside == nullptr) return false;
  if (op == "add") {
    (*inside)[name] = value;
    return true;
  }
  json::value* there = inside->if_contains(name);
  if (there == nullptr) return false;
  if (op == "test") return *there == value;
  if (op == "replace") *there = value;
  if (op == "remove") inside->erase(name);
  return op == "replace" || op == "remove";
}

}  // namespace

PatchStatus applyPatch(std::string_view type, const std::string& body, json::value* object) {
  boost::system::error_code fault;
  const json::value patch = json::parse(body, fault);
  if (fault) return PatchStatus::kMalformed;
  json::value changed = *object;
  if (type == "application/json-patch+json") {
    if (!patch.is_array()) return PatchStatus::kMalformed;
    for (const json::value& step : patch.get_array())
      if (!applyStep(step.as_object(), &changed)) return PatchStatus::kInvalid;
  } else if (type == "application/merge-patch+json" ||
             type == "application/strategic-merge-patch+json" ||
             type == "application/apply-patch+yaml") {
    if (!patch.is_object()) return PatchStatus::kMalformed;
    const bool plain = type == "application/merge-patch+json";
    merge(changed.as_object(), patch.get_object(), plain ? Merge::kPlain : Merge::kStrategic);
  } else {
    return PatchStatus::kUnsupported;
  }
  *object = std::move(changed);
  return PatchStatus::kApplied;
}

}  // namespace divvy::test
