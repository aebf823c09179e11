#include "lists/list_query.h"

#include <algorithm>
#include <charconv>
#include <deque>

#include <boost/json.hpp>

#include "lists/sort_key.h"
#include "rows/json_text.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    text += text.empty() ? "" : ", ";
    text += name;
  }
  return text;
}

bool has(const ListKind& kind, std::string_view field) {
  return std::find(kind.fields->begin(), kind.fields->end(), field) != kind.fields->end();
}

Error unknownField(const ListKind& kind, const std::string& word, std::string_view field) {
  return {ErrorCode::kUsage, word + ": " + std::string(kind.name) + " have no member \"" +
                                 std::string(field.substr(0, 64)) +
                                 "\"; accepted: " + joined(*kind.fields)};
}

std::string_view bare(std::string_view order) {
  return order.starts_with('-') ? order.substr(1) : order;
}

Result<std::size_t> readLimit(const std::string& text) {
  std::size_t limit = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (fault != std::errc() || end != text.data() + text.size() || limit < 1 || limit > kMaxRows)
    return Error{ErrorCode::kUsage, "limit: a number from 1 to " + std::to_string(kMaxRows)};
  return limit;
}

Result<std::vector<std::string>> readFields(const ListKind& kind, const std::string& text) {
  std::vector<std::string> fields;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::string field = text.substr(at, end - at);
    if (!has(kind, field)) return unknownField(kind, "fields", field);
    fields.push_back(std::move(field));
    at = end + 1;
  }
  return fields;
}

// Numbers as text, other values as their own text: for filters.
std::string shown(const bj::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  return value.is_null() ? std::string() : bj::serialize(value);
}

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

std::string lower(std::string text) {
  for (char& letter : text) letter = lower(letter);
  return text;
}

// `part`: in lower case.
bool isIn(std::string_view text, std::string_view part) {
  if (part.empty()) return true;
  const char first = part.front();
  const char other = first >= 'a' && first <= 'z' ? static_cast<char>(first - 'a' + 'A') : first;
  for (std::size_t at = 0; at + part.size() <= text.size(); ++at) {
    if (text[at] != first && text[at] != other) continue;
    if (std::equal(part.begin(), part.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
                   [](char one, char two) { return one == lower(two); }))
      return true;
  }
  return false;
}

// `part`: in lower case.
bool contains(const bj::value* value, std::string_view part) {
  if (value == nullptr) return false;
  return value->is_string() ? isIn(value->get_string(), part) : isIn(shown(*value), part);
}

bool equals(const bj::value* value, std::string_view text) {
  return value != nullptr && !value->is_null() && shown(*value) == text;
}

// A filter as its rows are compared with it.
struct Filter {
  std::vector<RowMember> members;  // one of them has to match
  bool whole = false;              // all of the member
  std::string text;                // in lower case, unless `whole`
};

// "member:text" or "member=text" if the member exists; else all of it is free text.
Filter readFilter(const ListKind& kind, const std::string& filter) {
  const std::size_t end = filter.find_first_of(":=");
  const std::string_view member = std::string_view(filter).substr(0, end);
  if (end == std::string::npos || !has(kind, member))
    return {{kind.searched.begin(), kind.searched.end()}, false, lower(filter)};
  const bool whole = filter[end] == '=';
  std::string text = filter.substr(end + 1);
  return {{RowMember(member)}, whole, whole ? std::move(text) : lower(std::move(text))};
}

bool matches(const ListRow& row, Filter& filter) {
  return std::any_of(filter.members.begin(), filter.members.end(), [&](RowMember& member) {
    const bj::value* value = member.in(row);
    return filter.whole ? equals(value, filter.text) : contains(value, filter.text);
  });
}

std::string textOf(const ListRow& row, const std::vector<std::string>& fields) {
  if (fields.empty()) return row.text();
  Row kept{{"id", row.at("id")}};
  for (const std::string& field : fields)
    if (const bj::value* value = RowMember(field).in(row); value != nullptr) kept[field] = *value;
  return jsonText(kept);
}

constexpr std::string_view kTime = "time_ms";

Result<std::int64_t> readInstant(const std::string& word, const std::string& text) {
  std::int64_t ms = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (fault != std::errc() || end != text.data() + text.size())
    return Error{ErrorCode::kUsage, word + ": milliseconds since 1970"};
  return ms;
}

// Reads a word that stands for one value of the query.
Result<void> readWord(const ListKind& kind, const std::string& word, const std::string& text,
                      ListQuery& query) {
  if (word == "limit") {
    const Result<std::size_t> limit = readLimit(text);
    if (!limit) return limit.error();
    query.limit = *limit;
  } else if (word == "after") {
    query.after = text;
  } else if (word == "sort") {
    if (!has(kind, bare(text))) return unknownField(kind, word, bare(text));
    query.order = text;
  } else if (word == "filter") {
    if (query.filters.size() == kMaxFilters)
      return Error{ErrorCode::kUsage, "filter: at most " + std::to_string(kMaxFilters)};
    query.filters.push_back(text);
  } else if (word == "fields") {
    Result<std::vector<std::string>> fields = readFields(kind, text);
    if (!fields) return fields.error();
    query.fields = std::move(*fields);
  } else if (has(kind, kTime) && (word == "from" || word == "to")) {
    const Result<std::int64_t> ms = readInstant(word, text);
    if (!ms) return ms.error();
    (word == "from" ? query.from_ms : query.to_ms) = *ms;
  } else {
    return Error{ErrorCode::kUsage, "unknown query word \"" + word.substr(0, 64) +
                                        "\"; accepted: limit, after, sort, filter, fields" +
                                        (has(kind, kTime) ? ", from, to" : "")};
  }
  return {};
}

bool isInTime(const ListRow& row, const ListQuery& query) {
  if (!query.from_ms && !query.to_ms) return true;
  const auto ms = row.at(kTime).to_number<std::int64_t>();
  return ms >= query.from_ms.value_or(ms) && ms < query.to_ms.value_or(ms + 1);
}

// The rows that a query selects, wherever they are in the list.
class Selection {
 public:
  Selection(const ListKind& kind, const ListQuery& query) : query_(query) {
    for (const std::string& filter : query.filters) filters_.push_back(readFilter(kind, filter));
  }

  bool all() const { return filters_.empty() && !query_.from_ms && !query_.to_ms; }
  bool has(const ListRow& row) {
    return isInTime(row, query_) &&
           std::all_of(filters_.begin(), filters_.end(),
                       [&](Filter& filter) { return matches(row, filter); });
  }

 private:
  const ListQuery& query_;
  std::vector<Filter> filters_;
};

}  // namespace

Result<ListQuery> readListQuery(const ListKind& kind,
                                const std::vector<std::pair<std::string, std::string>>& words) {
  ListQuery query;
  query.order = kind.order;
  for (const auto& [word, text] : words) {
    const Result<void> read = readWord(kind, word, text, query);
    if (!read) return read.error();
  }
  return query;
}

Result<ListPage> selectPage(const OrderedRows& rows, const ListKind& kind, const ListQuery& query) {
  const bool descending = query.order.starts_with('-');
  std::deque<std::string> texts;
  RowMember member(bare(query.order));
  const auto key = [&](const ListRow& row) { return keyOf(row, member, texts); };
  auto first = rows.begin();
  if (!query.after.empty()) {
    const Result<Cursor> after = Cursor::read(query.after, query.order);
    if (!after) return after.error();
    first = std::partition_point(rows.begin(), rows.end(), [&](const ListRow* row) {
      return !isBefore(after->key(), key(*row), descending);
    });
  }
  ListPage page;
  Selection selection(kind, query);
  const ListRow* last = nullptr;
  for (auto at = selection.all() ? first : rows.begin(); at != rows.end(); ++at) {
    if (!selection.has(**at)) continue;
    ++page.total;
    if (at < first) continue;
    if (page.count == query.limit) {
      if (page.next.empty()) page.next = Cursor::textOf(query.order, key(*last));
      if (selection.all()) break;
      continue;
    }
    page.items += (page.count++ == 0 ? "" : ",") + textOf(**at, query.fields);
    last = *at;
  }
  if (selection.all()) page.total = rows.size();
  page.items = '[' + page.items + ']';
  return page;
}

}  // namespace divvy::console
