// Members of JSON values, by the names on the way to them. Pure.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

namespace divvy {

// Names from the outermost object inwards; one at least.
using JsonPath = std::initializer_list<std::string_view>;

// Returns the member at `path`; its value may be null. Returns a null pointer if it is absent, if a
// value on the way is no object, or if `from` is a null pointer. The member lives as long as
// `from`.
inline const boost::json::value* memberAt(const boost::json::object& from, JsonPath path) {
  const boost::json::object* in = &from;
  const boost::json::value* found = nullptr;
  for (const std::string_view name : path) {
    found = in == nullptr ? nullptr : in->if_contains(name);
    in = found == nullptr ? nullptr : found->if_object();
  }
  return found;
}
inline const boost::json::value* memberAt(const boost::json::value* from, JsonPath path) {
  const boost::json::object* in = from == nullptr ? nullptr : from->if_object();
  return in == nullptr ? nullptr : memberAt(*in, path);
}
inline const boost::json::value* memberAt(const boost::json::value& from, JsonPath path) {
  return memberAt(&from, path);
}

// As memberAt(), by the type of the member's value.

// Returns a null pointer also if the value is null.
template <typename From>
const boost::json::value* presentAt(const From& from, JsonPath path) {
  const boost::json::value* found = memberAt(from, path);
  return found == nullptr || found->is_null() ? nullptr : found;
}
// Returns an empty text if the member is absent or no string.
template <typename From>
std::string textAt(const From& from, JsonPath path) {
  const boost::json::value* found = memberAt(from, path);
  return found == nullptr || !found->is_string() ? std::string() : std::string(found->get_string());
}
// Returns 0 if the member is absent or no signed integer of 64 bits.
template <typename From>
std::int64_t integerAt(const From& from, JsonPath path) {
  const boost::json::value* found = memberAt(from, path);
  return found == nullptr || !found->is_int64() ? 0 : found->get_int64();
}
// Returns an empty object if the member is absent or no object.
template <typename From>
const boost::json::object& objectAt(const From& from, JsonPath path) {
  static const boost::json::object none;
  const boost::json::value* found = memberAt(from, path);
  return found == nullptr || !found->is_object() ? none : found->get_object();
}
// Returns an empty list if the member is absent or no list.
template <typename From>
const boost::json::array& listAt(const From& from, JsonPath path) {
  static const boost::json::array none;
  const boost::json::value* found = memberAt(from, path);
  return found == nullptr || !found->is_array() ? none : found->get_array();
}

// Temporaries end before the returned pointer or reference is used.
const boost::json::value* memberAt(boost::json::value&& from, JsonPath path) = delete;
const boost::json::value* presentAt(boost::json::value&& from, JsonPath path) = delete;
const boost::json::object& objectAt(boost::json::value&& from, JsonPath path) = delete;
const boost::json::array& listAt(boost::json::value&& from, JsonPath path) = delete;

}  // namespace divvy
