// Rows of a list as views hold them. Pure.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "rows/rows.h"

namespace divvy::console {

// The names of the members of a kind of row, in their order. All rows of a kind have the same
// object. Thread-safe.
class RowShape {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  // Returns the shape of the row. Valid for the life of the process.
  static const RowShape& of(const Row& row);

  bool fits(const Row& row) const;
  // kNone: there is no such member.
  std::size_t indexOf(std::string_view member) const;
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

// A row and its JSON, which is made once for all answers. A value that is never changed.
class ListRow {
 public:
  explicit ListRow(Row row);

  const RowShape& shape() const { return *shape_; }
  // By the index of the shape.
  const boost::json::value& operator[](std::size_t index) const { return values_[index]; }
  // std::out_of_range: there is no such member.
  const boost::json::value& at(std::string_view member) const {
    return values_.at(shape_->indexOf(member));
  }
  // In UTF-8 on one line (jsonText()).
  const std::string& text() const { return text_; }
  Row members() const;

  friend bool operator==(const ListRow& one, const ListRow& two) {
    return one.shape_ == two.shape_ && one.values_ == two.values_;
  }
  bool equals(const Row& row) const;

 private:
  const RowShape* shape_;
  std::vector<boost::json::value> values_;
  std::string text_;
};

// Finds one member in many rows. Not thread-safe.
class RowMember {
 public:
  // `name` outlives it.
  explicit RowMember(std::string_view name) : name_(name) {}

  // Null: the row has no such member.
  const boost::json::value* in(const ListRow& row) {
    if (shape_ != &row.shape()) {
      shape_ = &row.shape();
      index_ = shape_->indexOf(name_);
    }
    return index_ == RowShape::kNone ? nullptr : &row[index_];
  }

 private:
  std::string_view name_;
  const RowShape* shape_ = nullptr;
  std::size_t index_ = RowShape::kNone;
};

// Views in which a row is the same share it: one that did not change has the same address.
using SharedRow = std::shared_ptr<const ListRow>;
using SharedRows = std::map<std::string, SharedRow, std::less<>>;  // by identifier

// Returns the row of the first of `earlier` that equals `row`, or else a new one. Null: none.
SharedRow sharedRow(Row row, std::initializer_list<SharedRow> earlier);

// Returns the rows; each that equals one of the same identifier in a list of `earlier` is that one.
// Null: none.
SharedRows sharedRows(Rows rows, std::initializer_list<const SharedRows*> earlier);

// Returns whether both are the same row.
inline bool same(const SharedRow& one, const SharedRow& two) {
  return one == two || (one != nullptr && two != nullptr && *one == *two);
}

}  // namespace divvy::console
