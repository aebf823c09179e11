#include "route_table.h"

#include <algorithm>
#include <set>
#include <utility>

#include "escapes.h"

namespace divvy::http {

// The first segments of a path, as many as the longest pattern may have.
struct RouteTable::Pieces {
  explicit Pieces(std::string_view path) {
    if (!path.starts_with('/')) return;
    for (std::string_view rest = path.substr(1);; rest.remove_prefix(pieces.back().size() + 1)) {
      rests.push_back(rest);
      pieces.push_back(rest.substr(0, rest.find('/')));
      complete = pieces.back().size() == rest.size();
      if (complete || pieces.size() == kMaxSegments) return;
    }
  }

  std::vector<std::string_view> pieces;
  std::vector<std::string_view> rests;  // the same, each with all that follows it
  bool complete = false;
};

Result<RouteTable::Segment> RouteTable::segmentOf(std::string_view text, bool last) {
  if (text.find_first_of("{}") == text.npos)
    return Segment{Segment::Kind::kText, std::string(text)};
  const Error malformed{ErrorCode::kUsage, "segment " + std::string(text) +
                                               " is no text, no {name}, and no {name...} at the "
                                               "end; a name has letters, digits and _"};
  if (!text.starts_with('{') || !text.ends_with('}')) return malformed;
  std::string_view name = text.substr(1, text.size() - 2);
  const bool rest = name.ends_with("...");
  if (rest) name.remove_suffix(3);
  const bool valid = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  });
  if (!valid || (rest && !last)) return malformed;
  return Segment{rest ? Segment::Kind::kRest : Segment::Kind::kOne, std::string(name)};
}

bool RouteTable::precedes(const Entry& a, const Entry& b) {
  if (a.exact || b.exact) return a.exact && !b.exact;
  return std::lexicographical_compare(
      a.segments.begin(), a.segments.end(), b.segments.begin(), b.segments.end(),
      [](const Segment& x, const Segment& y) { return x.kind < y.kind; });
}

Result<void> RouteTable::add(std::string method, std::string path) {
  const auto refused = [&](const std::string& why) {
    return Error{ErrorCode::kUsage, "route " + method + ' ' + path + ": " + why};
  };
  Entry entry{method, path, path.find_first_of("{}") == path.npos, {}, entries_.size()};
  if (!entry.exact) {
    if (!path.starts_with('/')) return refused("a pattern begins with a slash");
    std::set<std::string> names;
    for (std::size_t begin = 1; begin <= path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      Result<Segment> segment =
          segmentOf(std::string_view(path).substr(begin, end - begin), end == path.size());
      if (!segment) return refused(segment.error().message());
      if (segment->kind != Segment::Kind::kText && !names.insert(segment->text).second)
        return refused("the name " + segment->text + " is there twice");
      entry.segments.push_back(std::move(*segment));
      begin = end + 1;
    }
    if (entry.segments.size() > kMaxSegments)
      return refused("a pattern has at most " + std::to_string(kMaxSegments) + " segments");
  }
  entries_.insert(std::upper_bound(entries_.begin(), entries_.end(), entry, precedes),
                  std::move(entry));
  return {};
}

bool RouteTable::matches(const Entry& entry, std::string_view path, const Pieces& pieces) {
  if (entry.exact) return entry.path == path;
  const std::size_t count = entry.segments.size();
  if (pieces.pieces.size() < count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const Segment& segment = entry.segments[i];
    if (segment.kind == Segment::Kind::kRest) return true;
    if (segment.kind == Segment::Kind::kOne ? pieces.pieces[i].empty()
                                            : pieces.pieces[i] != segment.text)
      return false;
  }
  return pieces.complete && pieces.pieces.size() == count;
}

Result<Parameters> RouteTable::captured(const Entry& entry, const Pieces& pieces) {
  Parameters captures;
  for (std::size_t i = 0; i < entry.segments.size(); ++i) {
    const Segment& segment = entry.segments[i];
    if (segment.kind == Segment::Kind::kText) continue;
    const bool rest = segment.kind == Segment::Kind::kRest;
    Result<std::string> value =
        decodeEscapes(rest ? pieces.rests[i] : pieces.pieces[i], Plus::kItself);
    if (!value) return std::move(value).error();
    captures.add(segment.text, std::move(*value));
  }
  return captures;
}

RouteTable::Match RouteTable::find(std::string_view method, std::string_view path) const {
  const Pieces pieces(path);
  const Entry* found = nullptr;
  const Entry* of_get = nullptr;
  std::set<std::string> allowed;
  for (const Entry& entry : entries_) {
    if (!matches(entry, path, pieces)) continue;
    allowed.insert(entry.method);
    if (entry.method == "GET") allowed.insert("HEAD");
    if (found == nullptr && entry.method == method) found = &entry;
    if (of_get == nullptr && entry.method == "GET") of_get = &entry;
  }
  if (found == nullptr && method == "HEAD") found = of_get;
  Match match;
  if (found == nullptr) {
    if (allowed.empty()) return match;
    match.outcome = Match::Outcome::kNoMethod;
    for (const std::string& one : allowed) match.allow += (match.allow.empty() ? "" : ", ") + one;
    return match;
  }
  Result<Parameters> captures = captured(*found, pieces);
  match.outcome = captures ? Match::Outcome::kFound : Match::Outcome::kMalformed;
  match.route = found->route;
  if (captures) match.captures = std::move(*captures);
  return match;
}

}  // namespace divvy::http
