#include "rows/list_row.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include <boost/json.hpp>

#include "rows/json_text.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

SharedRow found(const SharedRows* rows, const std::string& id) {
  if (rows == nullptr) return nullptr;
  const auto at = rows->find(id);
  return at == rows->end() ? nullptr : at->second;
}

}  // namespace

// Kinds of rows are few, and the program's own.
const RowShape& RowShape::of(const Row& row) {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<const RowShape>> shapes;
  // Rows are made list by list.
  thread_local const RowShape* last = nullptr;
  if (last != nullptr && last->fits(row)) return *last;
  const std::lock_guard lock(mutex);
  const auto known = std::find_if(shapes.begin(), shapes.end(),
                                  [&](const auto& shape) { return shape->fits(row); });
  if (known != shapes.end()) {
    last = known->get();
    return *last;
  }
  auto shape = std::make_unique<RowShape>();
  for (const auto& member : row) shape->names_.emplace_back(member.key());
  shapes.push_back(std::move(shape));
  last = shapes.back().get();
  return *last;
}

bool RowShape::fits(const Row& row) const {
  return std::equal(names_.begin(), names_.end(), row.begin(), row.end(),
                    [](const std::string& name, const auto& member) {
                      return std::string_view(name) == std::string_view(member.key());
                    });
}

std::size_t RowShape::indexOf(std::string_view member) const {
  const auto at = std::find(names_.begin(), names_.end(), member);
  return at == names_.end() ? kNone : static_cast<std::size_t>(at - names_.begin());
}

ListRow::ListRow(Row row) : shape_(&RowShape::of(row)), text_(jsonText(row)) {
  values_.reserve(row.size());
  for (auto& member : row) values_.push_back(std::move(member.value()));
  text_.shrink_to_fit();
}

Row ListRow::members() const {
  Row row;
  for (std::size_t i = 0; i < values_.size(); ++i) row[shape_->names()[i]] = values_[i];
  return row;
}

bool ListRow::equals(const Row& row) const {
  return shape_->fits(row) && std::equal(values_.begin(), values_.end(), row.begin(), row.end(),
                                         [](const bj::value& value, const auto& member) {
                                           return value == member.value();
                                         });
}

SharedRow sharedRow(Row row, std::initializer_list<SharedRow> earlier) {
  for (const SharedRow& one : earlier)
    if (one != nullptr && one->equals(row)) return one;
  return std::make_shared<const ListRow>(std::move(row));
}

SharedRows sharedRows(Rows rows, std::initializer_list<const SharedRows*> earlier) {
  SharedRows all;
  for (auto& [id, row] : rows) {
    SharedRow known;
    for (const SharedRows* list : earlier) {
      const SharedRow one = found(list, id);
      if (known == nullptr && one != nullptr && one->equals(row)) known = one;
    }
    if (known == nullptr) known = std::make_shared<const ListRow>(std::move(row));
    all.emplace_hint(all.end(), id, std::move(known));
  }
  return all;
}

}  // namespace divvy::console
