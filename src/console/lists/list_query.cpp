#include "lists/list_query.h"

#include <algorithm>
#include <charconv>
#include <compare>
#include <optional>

#include <boost/algorithm/string/case_conv.hpp>
#include <boost/json.hpp>

#include "base/base64.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

// Longer keys are ordered by their begin, so that a cursor fits into an address.
constexpr std::size_t kMaxKey = 256;

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

bool contains(const bj::value* value, const std::string& lower) {
  if (value == nullptr) return false;
  std::string text = shown(*value);
  boost::algorithm::to_lower(text);
  return text.find(lower) != std::string::npos;
}

bool equals(const bj::value* value, std::string_view text) {
  return value != nullptr && !value->is_null() && shown(*value) == text;
}

// "member:text" or "member=text" if the member exists; else all of it is free text.
bool matches(const Row& row, const ListKind& kind, const std::string& filter) {
  const std::size_t colon = filter.find_first_of(":=");
  const std::string_view field = std::string_view(filter).substr(0, colon);
  std::string text = filter;
  if (colon != std::string::npos && has(kind, field)) {
    text.erase(0, colon + 1);
    if (filter[colon] == '=') return equals(row.if_contains(field), text);
    boost::algorithm::to_lower(text);
    return contains(row.if_contains(field), text);
  }
  boost::algorithm::to_lower(text);
  return std::any_of(kind.searched.begin(), kind.searched.end(),
                     [&](std::string_view name) { return contains(row.if_contains(name), text); });
}

int kindRank(const bj::value& value) {
  if (value.is_null()) return 3;
  if (value.is_string()) return 2;
  return value.is_number() ? 1 : 0;
}

std::strong_ordering compareNumbers(const bj::value& a, const bj::value& b) {
  const double x = a.to_number<double>();
  const double y = b.to_number<double>();
  return x < y   ? std::strong_ordering::less
         : x > y ? std::strong_ordering::greater
                 : std::strong_ordering::equal;
}

// Null is last in both directions, so it is not part of the reversal.
std::strong_ordering compareValues(const bj::value& a, const bj::value& b, bool descending) {
  if (a.is_null() || b.is_null()) return a.is_null() <=> b.is_null();
  const bj::value& first = descending ? b : a;
  const bj::value& second = descending ? a : b;
  const int rank = kindRank(first);
  if (rank != kindRank(second)) return rank <=> kindRank(second);
  if (rank == 1) return compareNumbers(first, second);
  if (rank == 2)
    return std::string_view(first.get_string()) <=> std::string_view(second.get_string());
  return shown(first) <=> shown(second);
}

struct SortKey {
  bj::value value;
  std::string id;
};

// Cut to kMaxKey bytes, at the begin of a character.
std::string cutKey(std::string text) {
  std::size_t size = std::min(text.size(), kMaxKey);
  while (size > 0 && size < text.size() &&
         (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U)
    --size;
  text.resize(size);
  return text;
}

// Lists and objects are ordered as their text.
SortKey keyOf(const Row& row, std::string_view field) {
  const bj::value* value = row.if_contains(field);
  const bj::value* id = row.if_contains("id");
  SortKey key{nullptr, id == nullptr ? "" : shown(*id)};
  if (value == nullptr) return key;
  if (value->is_string() || value->is_structured())
    key.value = cutKey(shown(*value));
  else
    key.value = *value;
  return key;
}

bool before(const SortKey& a, const SortKey& b, bool descending) {
  const std::strong_ordering order = compareValues(a.value, b.value, descending);
  return order == 0 ? a.id < b.id : order < 0;
}

// Base64 with other letters for those that mean something else in an address.
void exchange(std::string& text, std::string_view from, std::string_view to) {
  for (char& letter : text) {
    const std::size_t at = from.find(letter);
    if (at != std::string_view::npos) letter = to[at];
  }
}

std::string cursorOf(const std::string& order, const SortKey& key) {
  std::string text = toBase64(bj::serialize(bj::array{order, key.value, key.id}));
  exchange(text, "+/=", "-_.");
  return text;
}

Result<SortKey> readCursor(std::string text, const std::string& order) {
  const Error bad{ErrorCode::kUsage,
                  "after: not a cursor of this list in this order; begin without it"};
  exchange(text, "-_.", "+/=");
  const std::optional<std::string> plain = fromBase64(text, Base64Space::kRefused);
  if (!plain) return bad;
  boost::system::error_code fault;
  bj::parse_options options;
  options.allow_invalid_utf8 = true;  // a row's text, as it is
  const bj::value parsed = bj::parse(*plain, fault, {}, options);
  const bj::array* parts = fault ? nullptr : parsed.if_array();
  if (parts == nullptr || parts->size() != 3 || (*parts)[0] != bj::value(order) ||
      (*parts)[1].is_structured() || !(*parts)[2].is_string())
    return bad;
  return SortKey{(*parts)[1], std::string((*parts)[2].get_string())};
}

Row reduced(const Row& row, const std::vector<std::string>& fields) {
  if (fields.empty()) return row;
  Row kept{{"id", row.at("id")}};
  for (const std::string& field : fields) {
    const bj::value* value = row.if_contains(field);
    if (value != nullptr) kept[field] = *value;
  }
  return kept;
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

bool isInTime(const Row& row, const ListQuery& query) {
  if (!query.from_ms && !query.to_ms) return true;
  const auto ms = row.at(kTime).to_number<std::int64_t>();
  return ms >= query.from_ms.value_or(ms) && ms < query.to_ms.value_or(ms + 1);
}

bool isAccepted(const ListKind& kind, const Row& row, const ListQuery& query) {
  return isInTime(row, query) &&
         std::all_of(query.filters.begin(), query.filters.end(),
                     [&](const std::string& filter) { return matches(row, kind, filter); });
}

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

Result<ListPage> selectPage(const std::vector<const Row*>& rows, const ListKind& kind,
                            const ListQuery& query) {
  const bool descending = query.order.starts_with('-');
  const std::string_view field = bare(query.order);
  const auto less = [&](const auto& a, const auto& b) {
    return before(a.first, b.first, descending);
  };
  std::optional<SortKey> after;
  if (!query.after.empty()) {
    Result<SortKey> key = readCursor(query.after, query.order);
    if (!key) return key.error();
    after = std::move(*key);
  }
  ListPage page;
  std::vector<std::pair<SortKey, const Row*>> found;
  for (const Row* row : rows) {
    if (!isAccepted(kind, *row, query)) continue;
    ++page.total;
    SortKey key = keyOf(*row, field);
    if (!after || before(*after, key, descending)) found.emplace_back(std::move(key), row);
  }
  // Only the page and the first row after it need their places.
  const auto to = found.begin() + static_cast<std::ptrdiff_t>(std::min(query.limit, found.size()));
  std::nth_element(found.begin(), to, found.end(), less);
  std::sort(found.begin(), to, less);
  for (auto at = found.begin(); at != to; ++at)
    page.items.push_back(reduced(*at->second, query.fields));
  if (to != found.end() && to != found.begin())
    page.next = cursorOf(query.order, std::prev(to)->first);
  return page;
}

}  // namespace divvy::console
