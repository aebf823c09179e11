// Where things stand in a text that is JSON. Private.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace divvy::snapshot {

// From a value into one that it holds: a member, or the item of a list with that number.
struct PathStep {
  std::string key;
  std::size_t index = 0;
  bool item = false;
};
using Path = std::vector<PathStep>;

// "nodes[3].devices[0].uuid"; empty: the whole.
std::string text(const Path& path);

// "LINE:COLUMN" of that byte, from 1 on.
std::string positionOf(std::string_view json, std::size_t offset);

// Of JSON that has been read without a fault. Of the value, or of the nearest that is there.
std::size_t offsetOf(std::string_view json, const Path& path);
// The first name of a member that its object has already had.
std::optional<std::size_t> secondMember(std::string_view json);

}  // namespace divvy::snapshot
