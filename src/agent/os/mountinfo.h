// Which file a process sees at a path, by the kernel's word: what is mounted there in its mount
// namespace. Nothing of the process' own file systems is touched: they may be anybody's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy::agent {

// A file by where it is, not by how somebody came there.
struct MountedFile {
  std::string device;  // of its file system: "0:26"
  std::string path;    // in that
  friend bool operator==(const MountedFile&, const MountedFile&) = default;
};

// `mountinfo`: a /proc/PID/mountinfo. What is mounted at `point`, the topmost; nothing: no mount is
// just there. Pure.
std::optional<MountedFile> mountedAt(std::string_view mountinfo, std::string_view point);

// The file that a process with these mounts finds at `path`, an absolute one without links: the
// mounts on the way there are followed, so that one over a folder hides what was mounted below.
// Nothing: the process has another root, or the text is none. Pure.
std::optional<MountedFile> fileAt(std::string_view mountinfo, std::string_view path);

// The mounts that a process sees. kCorrupt: more than 1 MiB; kNotFound: it has gone.
Result<std::string> mountsOf(int pid);

// Where `path` is, which lies on the mount of that number. Pure.
std::optional<MountedFile> placeIn(std::string_view mountinfo, int mount, std::string_view path);

// Of a file of our own namespaces, absolute and without links; nothing: it cannot be told.
std::optional<MountedFile> placeOf(const std::string& path);

// Whether that is what the living process has mounted at `point`.
bool hasMounted(int pid, std::string_view point, const MountedFile& file);

}  // namespace divvy::agent
