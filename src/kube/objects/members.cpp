#include "objects/members.h"

namespace divvy::kube {

Members::Members(const json::value& value, std::string place)
    : object_(value.if_object()), place_(std::move(place)) {
  if (object_ == nullptr) fault_ = (place_.empty() ? "." : place_) + " is not an object";
}

void Members::fail(std::string_view name, std::string_view wanted) {
  if (!fault_.empty()) return;
  fault_ = place_ + '.' + std::string(name) + " is not " + std::string(wanted);
}

const json::value* Members::find(std::string_view name) const {
  if (object_ == nullptr || !fault_.empty()) return nullptr;
  const json::value* found = object_->if_contains(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

void Members::text(std::string_view name, std::string* out) {
  const json::value* found = find(name);
  if (found == nullptr) return;
  if (!found->is_string()) return fail(name, "a text");
  *out = found->get_string();
}

void Members::flag(std::string_view name, bool* out) {
  const json::value* found = find(name);
  if (found == nullptr) return;
  if (!found->is_bool()) return fail(name, "true or false");
  *out = found->get_bool();
}

void Members::number(std::string_view name, std::int64_t* out) {
  const json::value* found = find(name);
  if (found == nullptr) return;
  boost::system::error_code fault;
  const auto value = found->to_number<std::int64_t>(fault);
  if (fault) return fail(name, "a whole number");
  *out = value;
}

void Members::texts(std::string_view name, std::map<std::string, std::string>* out) {
  const json::value* found = find(name);
  if (found == nullptr) return;
  if (!found->is_object()) return fail(name, "a map of texts");
  for (const auto& [key, value] : found->get_object()) {
    if (!value.is_string()) return fail(name, "a map of texts");
    out->emplace(key, value.get_string());
  }
}

void Members::list(std::string_view name, std::vector<std::string>* out) {
  const json::value* found = find(name);
  if (found == nullptr) return;
  if (!found->is_array()) return fail(name, "a list of texts");
  for (const json::value& value : found->get_array()) {
    if (!value.is_string()) return fail(name, "a list of texts");
    out->emplace_back(value.get_string());
  }
}

void Members::quantities(std::string_view name, std::map<std::string, std::string>* out) {
  const json::value* found = find(name);
  if (found == nullptr) return;
  if (!found->is_object()) return fail(name, "a map of quantities");
  for (const auto& [key, value] : found->get_object()) {
    if (value.is_string()) {
      out->emplace(key, value.get_string());
    } else if (value.is_number()) {
      out->emplace(key, json::serialize(value));
    } else {
      return fail(name, "a map of quantities");
    }
  }
}

}  // namespace divvy::kube
