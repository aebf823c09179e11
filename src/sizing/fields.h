// Members of a JSON object by the names that different models give them. Private.
#pragma once

#include <boost/json.hpp>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::sizing {

namespace bj = boost::json;

// Words of somebody's file, in quotes, escaped and not too many.
std::string cited(std::string_view text);

// The first thing that was wrong is kept; after it everything reads as absent. null is absent.
class Fields {
 public:
  using Names = std::initializer_list<const char*>;
  struct Range {
    std::uint64_t low = 1;
    std::uint64_t high = 1 << 20;
  };

  // `fault` outlives it, and is shared by all parts of one text.
  Fields(const bj::object& object, std::string where, std::optional<std::string>* fault)
      : object_(&object), where_(std::move(where)), fault_(fault) {}

  bool ok() const { return !fault_->has_value(); }
  void fail(const std::string& what) {
    if (ok()) *fault_ = what;
  }
  // "text_config.hidden_size: what".
  void fail(const char* name, const std::string& what) { fail(where_ + name + ": " + what); }

  bool negative(const char* name) const;  // a number below zero is there
  bool has(const char* name) const { return find(name) != nullptr; }
  // Under the first of the names that is there.
  std::optional<std::uint64_t> count(Names names, Range range);
  std::uint64_t countOr(Names names, Range range, std::uint64_t otherwise);
  std::uint64_t need(Names names, Range range);
  bool flag(const char* name, bool otherwise);
  std::string text(const char* name);
  std::optional<Fields> object(const char* name);
  const bj::array* list(const char* name);
  // Of a list of texts; other items are wrong.
  std::vector<std::string> texts(const char* name);

 private:
  const bj::value* find(const char* name) const;
  std::optional<std::uint64_t> number(const char* name, const bj::value& value, Range range);

  const bj::object* object_;
  std::string where_;
  std::optional<std::string>* fault_;
};

}  // namespace divvy::sizing
