// Finds the route of a method and a path. Pure. Private.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/parameters.h"

namespace divvy::http {

inline constexpr std::size_t kMaxSegments = 16;  // of a pattern

// Paths and precedence as Route describes them. The work to find a route is linear in the length of
// the path and in the number of routes.
class RouteTable {
 public:
  struct Match {
    enum class Outcome : std::uint8_t {
      kFound,
      kNoPath,
      kNoMethod,   // the path has routes, none of them of this method: `allow`
      kMalformed,  // a captured value has a malformed escape
    } outcome = Outcome::kNoPath;
    std::size_t route = 0;  // in the order of add()
    Parameters captures{};
    std::string allow{};  // the methods of the path's routes, sorted, separated by ", "
  };

  // Errors: kUsage for a malformed pattern. Its message names the path.
  Result<void> add(std::string method, std::string path);
  Match find(std::string_view method, std::string_view path) const;

 private:
  struct Segment {
    // In the order of precedence.
    enum class Kind : std::uint8_t { kText, kOne, kRest } kind = Kind::kText;
    std::string text;  // or the name of what is captured
  };
  struct Entry {
    std::string method, path;
    bool exact = true;
    std::vector<Segment> segments;
    std::size_t route = 0;
  };
  struct Pieces;

  static Result<Segment> segmentOf(std::string_view text, bool last);
  static bool precedes(const Entry& a, const Entry& b);
  static bool matches(const Entry& entry, std::string_view path, const Pieces& pieces);
  static Result<Parameters> captured(const Entry& entry, const Pieces& pieces);

  std::vector<Entry> entries_;  // the most specific first
};

}  // namespace divvy::http
