#include "os/mountinfo.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <vector>

#include "base/fd.h"
#include "base/plain_file.h"
#include "base/processes.h"

namespace divvy::agent {
namespace {

struct Line {
  int mount = -1;
  int parent = -1;
  std::string device, root, point;
};

// Blanks and a few others are written as \\ooo.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    int value = 0;
    const char* digits = text.data() + at + 1;
    const bool escaped = text[at] == '\\' && at + 3 < text.size() &&
                         std::from_chars(digits, digits + 3, value, 8).ptr == digits + 3;
    plain += escaped ? static_cast<char>(value) : text[at];
    if (escaped) at += 3;
  }
  return plain;
}

// "36 35 98:0 /mnt1 /mnt2 rw,noatime ...": number, parent's, device, root, point.
std::optional<Line> lineOf(std::string_view text) {
  constexpr std::size_t kFields = 5;
  std::array<std::string_view, kFields> fields;
  for (std::string_view& field : fields) {
    const std::size_t end = text.find(' ');
    if (end == std::string_view::npos) return std::nullopt;
    field = text.substr(0, end);
    text.remove_prefix(end + 1);
  }
  Line line;
  const auto read =
      std::from_chars(fields[0].data(), fields[0].data() + fields[0].size(), line.mount);
  const auto above =
      std::from_chars(fields[1].data(), fields[1].data() + fields[1].size(), line.parent);
  if (read.ec != std::errc() || above.ec != std::errc()) return std::nullopt;
  line.device = fields[2];
  line.root = unescaped(fields[3]);
  line.point = unescaped(fields[4]);
  return line;
}

template <typename Visit>
void eachLine(std::string_view mountinfo, Visit visit) {
  while (!mountinfo.empty()) {
    const std::size_t end = std::min(mountinfo.find('\n'), mountinfo.size());
    if (const std::optional<Line> line = lineOf(mountinfo.substr(0, end))) visit(*line);
    mountinfo.remove_prefix(std::min(end + 1, mountinfo.size()));
  }
}

// By the number of a mount: its inner mount with the shortest mount point, which a path meets
// first. Of mounts at one point the last is taken.
std::map<int, const Line*> firstInEach(const std::vector<Line>& lines) {
  std::map<int, const Line*> first;
  for (const Line& line : lines) {
    if (line.parent == line.mount) continue;
    const Line*& known = first.try_emplace(line.parent, &line).first->second;
    if (line.point.size() <= known->point.size()) known = &line;
  }
  return first;
}

// Streams throw if the process ends while it is read.
std::string textOf(const std::string& path) {
  constexpr std::size_t kMax = 16u << 20;
  const Result<std::string> text = readPlainFile(path, kMax);
  return text ? *text : std::string();
}

}  // namespace

std::optional<MountedFile> mountedAt(std::string_view mountinfo, std::string_view point) {
  std::optional<MountedFile> found;
  // The last mount at a point covers the others.
  eachLine(mountinfo, [&](const Line& line) {
    if (line.point == point) found = MountedFile{line.device, line.root};
  });
  return found;
}

std::optional<MountedFile> fileAt(std::string_view mountinfo, std::string_view path) {
  std::vector<Line> lines;
  std::set<int> listed;
  eachLine(mountinfo, [&](const Line& line) {
    // No other mount lies on the path there.
    const bool above = line.point == "/" || line.point == path ||
                       (path.starts_with(line.point) && path[line.point.size()] == '/');
    if (!above) return;
    listed.insert(line.mount);
    lines.push_back(line);
  });
  const Line* at = nullptr;
  for (const Line& line : lines)
    if (line.point == "/" && !listed.contains(line.parent)) at = &line;
  if (at == nullptr) return std::nullopt;
  // Goes down from mount to mount. Each step enters another mount, so there are at most as many
  // steps as lines; a process may have any number of mounts.
  const std::map<int, const Line*> inner = firstInEach(lines);
  for (std::size_t steps = 0; steps < lines.size(); ++steps) {
    const auto next = inner.find(at->mount);
    if (next == inner.end()) break;
    at = next->second;
  }
  const std::size_t below = at->point == "/" ? 0 : at->point.size();
  const std::string root = at->root == "/" ? "" : at->root;
  return MountedFile{at->device, root + std::string(path.substr(below))};
}

Result<std::string> mountsOf(int pid) {
  constexpr std::size_t kMax = 1u << 20;
  return readPlainFile(procPath(pid, "mountinfo"), kMax);
}

std::optional<MountedFile> placeIn(std::string_view mountinfo, int mount, std::string_view path) {
  std::optional<MountedFile> found;
  eachLine(mountinfo, [&](const Line& line) {
    if (line.mount != mount) return;
    const std::string point = line.point == "/" ? "" : line.point;
    if (!path.starts_with(point) || path.size() == point.size() || path[point.size()] != '/')
      return;
    const std::string root = line.root == "/" ? "" : line.root;
    found = MountedFile{line.device, root + std::string(path.substr(point.size()))};
  });
  return found;
}

std::optional<MountedFile> placeOf(const std::string& path) {
  const Fd fd(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return std::nullopt;
  const std::string number = std::to_string(fd.get());
  constexpr std::string_view kKey = "mnt_id:";
  const std::string info = textOf("/proc/self/fdinfo/" + number);
  std::size_t at = info.find(kKey);
  if (at != std::string::npos) at = info.find_first_not_of(" \t", at + kKey.size());
  if (at == std::string::npos) return std::nullopt;
  int mount = -1;
  std::from_chars(info.data() + at, info.data() + info.size(), mount);
  // Directories of the path may be links.
  std::array<char, 4096> real{};
  const std::string link = "/proc/self/fd/" + number;
  const ssize_t size = readlink(link.c_str(), real.data(), real.size());
  if (size <= 0 || static_cast<std::size_t>(size) == real.size()) return std::nullopt;
  return placeIn(textOf("/proc/self/mountinfo"), mount,
                 std::string_view(real.data(), static_cast<std::size_t>(size)));
}

bool hasMounted(int pid, std::string_view point, const MountedFile& file) {
  const Result<std::string> mounts = mountsOf(pid);
  return mounts && mountedAt(*mounts, point) == file;
}

}  // namespace divvy::agent
