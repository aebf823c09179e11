// Reader of JSON objects; keeps the first error, with its place. Private.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "base/result.h"

namespace divvy::kube {

namespace json = boost::json;

// Reads members of one JSON object. An absent or null member leaves `out` unchanged; no member is
// required. After the first error nothing is read any more. `place` is for messages:
// ".spec.containers[2]".
class Members {
 public:
  Members(const json::value& value, std::string place);

  bool ok() const { return fault_.empty(); }
  Error error() const { return {ErrorCode::kCorrupt, fault_}; }
  void fail(std::string_view name, std::string_view wanted);

  const json::value* find(std::string_view name) const;
  void text(std::string_view name, std::string* out);
  void flag(std::string_view name, bool* out);
  void number(std::string_view name, std::int64_t* out);
  // Reads an object of strings.
  void texts(std::string_view name, std::map<std::string, std::string>* out);
  // Reads a list of strings.
  void list(std::string_view name, std::vector<std::string>* out);
  // Reads an object of strings and numbers; numbers become strings.
  void quantities(std::string_view name, std::map<std::string, std::string>* out);

  template <typename F>
  void each(std::string_view name, F read) {
    const json::value* found = find(name);
    if (found == nullptr) return;
    if (!found->is_array()) return fail(name, "a list");
    std::size_t at = 0;
    for (const json::value& item : found->get_array()) {
      Members inner(item, place_ + '.' + std::string(name) + '[' + std::to_string(at++) + ']');
      if (inner.ok()) read(inner);
      if (!inner.ok()) return take(inner);
    }
  }
  template <typename F>
  void in(std::string_view name, F read) {
    const json::value* found = find(name);
    if (found == nullptr) return;
    Members inner(*found, place_ + '.' + std::string(name));
    if (inner.ok()) read(inner);
    if (!inner.ok()) take(inner);
  }

 private:
  void take(const Members& inner) {
    if (fault_.empty()) fault_ = inner.fault_;
  }

  const json::object* object_ = nullptr;
  std::string place_;
  std::string fault_;
};

}  // namespace divvy::kube
