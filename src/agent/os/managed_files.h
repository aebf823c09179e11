// Removes the agent's own files and nothing else: other programs may write into the same
// directories.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace divvy::agent {

struct ManagedFile {
  std::string_view name;
  bool folder = false;  // with all its contents
};

// The files of a tenant's directory, and of a node's without the tenants.
std::vector<ManagedFile> tenantFiles();
std::vector<ManagedFile> nodeFiles();

// Removes these files from `dir`, their partial copies (".new", ".lost"), and `dir` itself if it is
// empty then. A link or a pipe with such a name is removed; a link's target stays, and so does a
// directory in a file's place. Returns the names of all that is left, sorted; empty if `dir` no
// longer exists.
std::vector<std::string> removeManaged(const std::string& dir, const std::vector<ManagedFile>& own);

}  // namespace divvy::agent
