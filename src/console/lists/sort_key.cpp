#include "lists/sort_key.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/json.hpp>

#include "base/base64.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;
using Rank = SortKey::Rank;

// Longer texts are ordered by their begin, so that a cursor fits into an address.
constexpr std::size_t kMaxText = 256;

// Cut to kMaxText bytes, at the begin of a character.
std::string_view cut(std::string_view text) {
  std::size_t size = std::min(text.size(), kMaxText);
  while (size > 0 && size < text.size() &&
         (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U)
    --size;
  return text.substr(0, size);
}

// Of a value that is no list and no object.
SortKey simpleKey(const bj::value& value) {
  SortKey key;
  if (value.is_bool()) {
    key.rank = Rank::kBool;
    key.text = value.get_bool() ? "true" : "false";
  } else if (value.is_number()) {
    key.rank = Rank::kNumber;
    key.number = value.to_number<double>();
  } else if (value.is_string()) {
    key.rank = Rank::kText;
    key.text = cut(value.get_string());
  }
  return key;
}

bj::value valueOf(const SortKey& key) {
  if (key.rank == Rank::kBool) return key.text == "true";
  if (key.rank == Rank::kNumber) return key.number;
  return key.rank == Rank::kText ? bj::value(key.text) : bj::value(nullptr);
}

// Base64 with other letters for those that mean something else in an address.
void exchange(std::string& text, std::string_view from, std::string_view to) {
  for (char& letter : text) {
    const std::size_t at = from.find(letter);
    if (at != std::string_view::npos) letter = to[at];
  }
}

}  // namespace

SortKey keyOf(const ListRow& row, RowMember& member, std::deque<std::string>& texts) {
  SortKey key;
  const bj::value* value = member.in(row);
  if (value != nullptr && value->is_structured()) {
    texts.push_back(bj::serialize(*value));
    key.rank = Rank::kText;
    key.text = cut(texts.back());
  } else if (value != nullptr) {
    key = simpleKey(*value);
  }
  key.id = row.at("id").get_string();
  return key;
}

bool isBefore(const SortKey& one, const SortKey& two, bool descending) {
  if (one.rank == Rank::kNull || two.rank == Rank::kNull) {
    if (one.rank != two.rank) return two.rank == Rank::kNull;
    return one.id < two.id;
  }
  const SortKey& first = descending ? two : one;
  const SortKey& second = descending ? one : two;
  if (first.rank != second.rank) return first.rank < second.rank;
  if (first.number != second.number) return first.number < second.number;
  const int order = first.text.compare(second.text);
  return order == 0 ? one.id < two.id : order < 0;
}

std::string Cursor::textOf(const std::string& order, const SortKey& key) {
  std::string text = toBase64(bj::serialize(bj::array{order, valueOf(key), key.id}));
  exchange(text, "+/=", "-_.");
  return text;
}

Result<Cursor> Cursor::read(std::string text, const std::string& order) {
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
  Cursor cursor;
  cursor.value_ = (*parts)[1];
  cursor.id_ = (*parts)[2].get_string();
  return cursor;
}

SortKey Cursor::key() const {
  SortKey key = simpleKey(value_);
  key.id = id_;
  return key;
}

}  // namespace divvy::console
