// Optional members of an API server's objects.
#pragma once

#include <initializer_list>
#include <string>

#include <boost/json/value.hpp>

namespace divvy::cli {

// Returns null if the member is absent or null, or its parent is no object.
inline const boost::json::value* memberOf(const boost::json::value& object,
                                          std::initializer_list<const char*> path) {
  const boost::json::value* at = &object;
  for (const char* name : path) {
    const boost::json::object* in = at->if_object();
    at = in == nullptr ? nullptr : in->if_contains(name);
    if (at == nullptr || at->is_null()) return nullptr;
  }
  return at;
}

// Returns an empty string if the member is no string.
inline std::string textOf(const boost::json::value& object,
                          std::initializer_list<const char*> path) {
  const boost::json::value* found = memberOf(object, path);
  return found == nullptr || !found->is_string() ? std::string() : std::string(found->get_string());
}

inline const boost::json::object& objectOf(const boost::json::value& object,
                                           std::initializer_list<const char*> path) {
  static const boost::json::object none;
  const boost::json::value* found = memberOf(object, path);
  return found == nullptr || !found->is_object() ? none : found->get_object();
}

inline const boost::json::array& listOf(const boost::json::value& object,
                                        std::initializer_list<const char*> path) {
  static const boost::json::array none;
  const boost::json::value* found = memberOf(object, path);
  return found == nullptr || !found->is_array() ? none : found->get_array();
}

}  // namespace divvy::cli
