#include "json_path.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

namespace divvy::snapshot {
namespace {

// Goes over it token by token; what it goes over is known to be right.
class JsonWalker {
 public:
  explicit JsonWalker(std::string_view json) : json_(json) { blank(); }

  std::size_t at() const { return at_; }
  bool end() const { return at_ >= json_.size(); }
  char here() const { return end() ? '\0' : json_[at_]; }

  void next() {
    ++at_;
    blank();
  }
  // As it stands there, quotes included.
  std::string_view string() {
    const std::size_t from = at_;
    ++at_;
    while (!end() && json_[at_] != '"') at_ += json_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, json_.size());
    const std::string_view raw = json_.substr(from, at_ - from);
    blank();
    return raw;
  }
  void value() {
    int depth = 0;
    do {
      const char c = here();
      if (c == '"') {
        string();
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      if (c == '{' || c == '[' || c == '}' || c == ']' || c == ',' || c == ':') {
        next();
      } else {
        word();
      }
    } while (depth > 0 && !end());
  }

 private:
  void word() {
    while (!end() && std::string_view(" \t\r\n,:]}").find(json_[at_]) == std::string_view::npos)
      ++at_;
    blank();
  }
  void blank() {
    while (!end() && std::string_view(" \t\r\n").find(json_[at_]) != std::string_view::npos) ++at_;
  }

  std::string_view json_;
  std::size_t at_ = 0;
};

std::string plainOf(std::string_view raw) {
  if (raw.find('\\') == std::string_view::npos) return std::string(raw.substr(1, raw.size() - 2));
  boost::system::error_code fault;
  const boost::json::value value = boost::json::parse({raw.data(), raw.size()}, fault);
  const boost::json::string* string = value.if_string();
  return string == nullptr ? std::string(raw) : std::string(string->data(), string->size());
}

// Into what the step leads to; false: that is not there.
bool enter(JsonWalker& walk, const PathStep& step) {
  if (walk.here() != (step.item ? '[' : '{')) return false;
  walk.next();
  for (std::size_t i = 0; !walk.end() && walk.here() != ']' && walk.here() != '}'; ++i) {
    std::string key;
    if (!step.item) {
      key = plainOf(walk.string());
      walk.next();
    }
    if (step.item ? i == step.index : key == step.key) return true;
    walk.value();
    if (walk.here() == ',') walk.next();
  }
  return false;
}

}  // namespace

std::string text(const Path& path) {
  std::string all;
  for (const PathStep& step : path) {
    if (step.item) {
      all += "[" + std::to_string(step.index) + "]";
    } else {
      all += (all.empty() ? "" : ".") + step.key;
    }
  }
  return all;
}

std::string positionOf(std::string_view json, std::size_t offset) {
  const std::string_view before = json.substr(0, std::min(offset, json.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');
  const std::size_t column = start == std::string_view::npos ? offset + 1 : offset - start;
  return std::to_string(line) + ":" + std::to_string(column);
}

std::size_t offsetOf(std::string_view json, const Path& path) {
  JsonWalker walk(json);
  std::size_t found = walk.at();
  for (const PathStep& step : path) {
    if (!enter(walk, step)) break;
    found = walk.at();
  }
  return found;
}

std::optional<std::size_t> secondMember(std::string_view json) {
  JsonWalker walk(json);
  std::vector<std::set<std::string>> seen;
  while (!walk.end()) {
    const char c = walk.here();
    const std::size_t at = walk.at();
    if (c == '"') {
      const std::string_view raw = walk.string();
      const bool name = walk.here() == ':';
      if (name && !seen.empty() && !seen.back().insert(plainOf(raw)).second) return at;
      continue;
    }
    if (c == '{') seen.emplace_back();
    if (c == '}' && !seen.empty()) seen.pop_back();
    walk.next();
  }
  return std::nullopt;
}

}  // namespace divvy::snapshot
