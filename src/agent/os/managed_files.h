// Taking away what is ours, and nothing else: folders of ours are in places where others write,
// too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace divvy::agent {

struct ManagedFile {
  std::string_view name;
  bool folder = false;  // with all that is in it
};

// Of a tenant's folder, and of a node's without the tenants themselves.
std::vector<ManagedFile> tenantFiles();
std::vector<ManagedFile> nodeFiles();

// Removes those from `dir`, halves of them that are called after them (".new", ".lost"), and `dir`
// itself when nothing else is in it. A link or a pipe that has such a name goes, what a link leads
// to stays, and so does a folder in a file's place. Names of all that is left, sorted; empty where
// `dir` is gone.
std::vector<std::string> removeManaged(const std::string& dir, const std::vector<ManagedFile>& own);

}  // namespace divvy::agent
