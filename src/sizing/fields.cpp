#include "fields.h"

namespace divvy::sizing {
namespace {

constexpr std::size_t kMaxShown = 40;

// Cut between characters.
std::string shortened(std::string text) {
  if (text.size() <= kMaxShown) return text;
  std::size_t end = kMaxShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::string shown(const bj::value& value) {
  return shortened(bj::serialize(value));
}

std::string accepted(Fields::Range range) {
  return "a whole number from " + std::to_string(range.low) + " to " + std::to_string(range.high);
}

}  // namespace

std::string cited(std::string_view text) {
  return bj::serialize(bj::string(shortened(std::string(text))));
}

const bj::value* Fields::find(const char* name) const {
  if (!ok()) return nullptr;
  const bj::value* value = object_->if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

bool Fields::negative(const char* name) const {
  const bj::value* value = find(name);
  return value != nullptr && value->is_int64() && value->get_int64() < 0;
}

std::optional<std::uint64_t> Fields::number(const char* name, const bj::value& value, Range range) {
  boost::system::error_code fault;
  const std::uint64_t found = value.is_number() ? value.to_number<std::uint64_t>(fault) : 0;
  if (value.is_number() && !fault && found >= range.low && found <= range.high) return found;
  fail(name, shown(value) + " is not accepted; " + accepted(range) + " is");
  return std::nullopt;
}

std::optional<std::uint64_t> Fields::count(Names names, Range range) {
  for (const char* name : names) {
    if (const bj::value* value = find(name)) return number(name, *value, range);
  }
  return std::nullopt;
}

std::uint64_t Fields::countOr(Names names, Range range, std::uint64_t otherwise) {
  return count(names, range).value_or(otherwise);
}

std::uint64_t Fields::need(Names names, Range range) {
  const std::optional<std::uint64_t> found = count(names, range);
  if (found) return *found;
  std::string others;
  for (const char* name : names) {
    if (name != *names.begin()) others += (others.empty() ? "" : ", ") + std::string(name);
  }
  fail(*names.begin(), "missing" + (others.empty() ? "" : " (" + others + " too)") + "; " +
                           accepted(range) + " is expected");
  return range.low;
}

bool Fields::flag(const char* name, bool otherwise) {
  const bj::value* value = find(name);
  if (value == nullptr) return otherwise;
  if (value->is_bool()) return value->get_bool();
  fail(name, shown(*value) + " is not accepted; true or false is");
  return otherwise;
}

std::string Fields::text(const char* name) {
  const bj::value* value = find(name);
  if (value == nullptr) return "";
  if (value->is_string()) return std::string(value->get_string());
  fail(name, shown(*value) + " is not accepted; a text is");
  return "";
}

std::optional<Fields> Fields::object(const char* name) {
  const bj::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_object()) return Fields(value->get_object(), where_ + name + ".", fault_);
  fail(name, shown(*value) + " is not accepted; an object is");
  return std::nullopt;
}

const bj::array* Fields::list(const char* name) {
  const bj::value* value = find(name);
  if (value == nullptr) return nullptr;
  if (value->is_array()) return &value->get_array();
  fail(name, shown(*value) + " is not accepted; a list is");
  return nullptr;
}

std::vector<std::string> Fields::texts(const char* name) {
  std::vector<std::string> found;
  const bj::array* items = list(name);
  if (items == nullptr) return found;
  for (const bj::value& item : *items) {
    if (!item.is_string()) {
      fail(name, shown(item) + " is not accepted in the list; a text is");
      return {};
    }
    found.emplace_back(item.get_string());
  }
  return found;
}

}  // namespace divvy::sizing
