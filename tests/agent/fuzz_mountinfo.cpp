// Any text as a /proc/PID/mountinfo. The first line is "COUNT PATH", the rest is repeated COUNT
// times with other mount numbers. Whatever the text is, the answer costs time in proportion to it.
// For what the kernel can have written, a resolver that walks the path part by part agrees.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cost_bound.h"
#include "fuzz_input.h"
#include "os/mountinfo.h"

using namespace divvy;
using namespace divvy::agent;

namespace {

constexpr std::size_t kMaxText = 256u << 10;  // of 1 MiB that mountsOf() reads

struct Mount {
  int number = 0, parent = 0;
  std::string device, root, point;
};

bool isPath(const std::string& text) {
  if (text.empty() || text[0] != '/' || text.find("//") != std::string::npos) return false;
  return text == "/" || text.back() != '/';
}

bool isBelow(const std::string& path, const std::string& folder) {
  return folder == "/" || path == folder || path.starts_with(folder + '/');
}

// Strict: none for anything that no kernel writes.
std::optional<Mount> mountOf(const std::string& line) {
  std::istringstream words(line);
  std::string number, parent, options;
  Mount mount;
  if (!(words >> number >> parent >> mount.device >> mount.root >> mount.point >> options))
    return std::nullopt;
  const auto digits = [](const std::string& text) {
    return !text.empty() && text.size() < 9 &&
           text.find_first_not_of("0123456789") == std::string::npos;
  };
  const std::string again = number + ' ' + parent + ' ' + mount.device + ' ' + mount.root + ' ' +
                            mount.point + ' ' + options;
  if (!digits(number) || !digits(parent) || !line.starts_with(again)) return std::nullopt;
  // Escapes are left to the test of the parser.
  if (line.find('\\') != std::string::npos || !isPath(mount.root) || !isPath(mount.point))
    return std::nullopt;
  mount.number = std::stoi(number);
  mount.parent = std::stoi(parent);
  return mount;
}

// None: the text is no tree of mounts.
std::optional<std::vector<Mount>> treeOf(std::string_view text) {
  std::vector<Mount> mounts;
  std::map<int, std::size_t> by_number;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const std::optional<Mount> mount = mountOf(line);
    if (!mount || !by_number.emplace(mount->number, mounts.size()).second) return std::nullopt;
    mounts.push_back(*mount);
  }
  for (const Mount& mount : mounts) {
    std::set<int> seen;
    for (const Mount* at = &mount; by_number.contains(at->parent);) {
      const Mount& parent = mounts[by_number[at->parent]];
      if (!seen.insert(at->number).second || !isBelow(at->point, parent.point)) return std::nullopt;
      at = &parent;
    }
  }
  return mounts;
}

// Part by part, and at each of them into what is mounted there.
std::optional<MountedFile> walked(const std::vector<Mount>& mounts, const std::string& path) {
  const Mount* at = nullptr;
  for (const Mount& mount : mounts) {
    const bool listed = std::any_of(mounts.begin(), mounts.end(),
                                    [&](const Mount& one) { return one.number == mount.parent; });
    if (mount.point == "/" && !listed) at = &mount;
  }
  if (at == nullptr) return std::nullopt;
  const auto enter = [&](const std::string& point) {
    for (bool entered = true; entered;) {
      entered = false;
      for (const Mount& mount : mounts) {
        if (mount.parent != at->number || mount.point != point) continue;
        const bool last = std::none_of(
            &mount + 1, mounts.data() + mounts.size(),
            [&](const Mount& one) { return one.parent == at->number && one.point == point; });
        if (!last) continue;
        at = &mount;
        entered = true;
        break;
      }
    }
  };
  enter("/");
  for (std::size_t end = path.find('/', 1); path != "/"; end = path.find('/', end + 1)) {
    enter(path.substr(0, end));
    if (end == std::string::npos) break;
  }
  const std::string rest = at->point == "/" ? path : path.substr(at->point.size());
  return MountedFile{at->device, (at->root == "/" ? "" : at->root) + rest};
}

// `text`, `count` times: each copy has mount numbers of its own, parents outside are kept.
std::string repeated(std::string_view text, unsigned count) {
  std::string all(text);
  for (unsigned copy = 1; copy < count && all.size() + text.size() < kMaxText; ++copy) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
      int number = 0;
      const auto read = std::from_chars(line.data(), line.data() + line.size(), number);
      const auto moved = static_cast<unsigned>(number) % 10'000 + copy * 10'000;
      all += '\n' + std::to_string(moved) +
             line.substr(static_cast<std::size_t>(read.ptr - line.data()));
    }
  }
  return all;
}

void checkParts(const std::vector<Mount>& mounts, std::string_view text, const std::string& path) {
  for (const Mount& mount : mounts) {
    const std::optional<MountedFile> found = mountedAt(text, mount.point);
    need(found.has_value(), "a mount at its point");
    const std::optional<MountedFile> place = placeIn(text, mount.number, path);
    need(!place || (place->device == mount.device && isBelow(path, mount.point)),
         "a path on its mount");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = textOf(data, size);
  const std::string_view head = takeLine(&rest);
  unsigned count = 0;
  const auto read = std::from_chars(head.data(), head.data() + head.size(), count);
  const std::string path(read.ptr, head.data() + head.size());
  if (path.size() < 2 || path[0] != ' ' || !isPath(path.substr(1))) return 0;
  const std::string wanted = path.substr(1);
  const std::string text = repeated(rest, std::min(count, 100'000u));
  std::optional<MountedFile> found;
  // 1 MiB of lines costs 10 ms.
  const std::chrono::nanoseconds bound(100'000 + 20 * text.size());
  costsAtMost(bound, "fileAt", [&] { found = fileAt(text, wanted); });
  costsAtMost(bound, "mountedAt", [&] { (void)mountedAt(text, wanted); });
  if (text.size() > 8192) return 0;  // the resolver is slow
  const std::optional<std::vector<Mount>> mounts = treeOf(text);
  if (!mounts) return 0;
  need(found == walked(*mounts, wanted), "the file at a path");
  checkParts(*mounts, text, wanted);
  return 0;
}
