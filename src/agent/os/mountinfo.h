// The file that a process sees at a path, according to the kernel: the mount there in its mount
// namespace. The process' own file systems are not accessed: they are not trusted.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy::agent {

// A file by its place, whatever path leads to it.
struct MountedFile {
  std::string device;  // of its file system: "0:26"
  std::string path;    // within the file system
  friend bool operator==(const MountedFile&, const MountedFile&) = default;
};

// `mountinfo`: a /proc/PID/mountinfo. Returns the topmost mount at `point`; nothing: no mount is
// exactly there. Pure.
std::optional<MountedFile> mountedAt(std::string_view mountinfo, std::string_view point);

// Returns the file at `path`, absolute and without links, for a process with these mounts. Mounts
// on the way are followed: a mount over a directory hides mounts below it. Nothing: the process has
// another root, or the text is not valid. Pure.
std::optional<MountedFile> fileAt(std::string_view mountinfo, std::string_view path);

// The mounts that a process sees. kCorrupt: more than 1 MiB; kNotFound: the process has ended.
Result<std::string> mountsOf(int pid);

// The place of `path`, which lies on the mount with that number. Pure.
std::optional<MountedFile> placeIn(std::string_view mountinfo, int mount, std::string_view path);

// The place of a file in our own namespaces, absolute and without links; nothing: unknown.
std::optional<MountedFile> placeOf(const std::string& path);

// Whether the living process has `file` mounted at `point`.
bool hasMounted(int pid, std::string_view point, const MountedFile& file);

}  // namespace divvy::agent
