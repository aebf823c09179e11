#include "options/version.h"

namespace divvy::cli {
namespace {

constexpr std::size_t kShortHash = 12;
SourceCommit source_commit;

}  // namespace

std::string versionLine() {
  const std::string hash = source_commit.hash;
  if (hash.empty()) return "divvy " DIVVY_VERSION;
  return "divvy " DIVVY_VERSION " (commit " + hash.substr(0, kShortHash) +
         (source_commit.modified ? ", modified)" : ")");
}

std::string versionJson() {
  std::string text = "{\n  \"name\": \"divvy\",\n  \"version\": \"" DIVVY_VERSION "\"";
  if (*source_commit.hash != '\0') {
    text += std::string(",\n  \"commit\": \"") + source_commit.hash +
            "\",\n  \"modified\": " + (source_commit.modified ? "true" : "false");
  }
  return text + "\n}\n";
}

void setSourceCommit(const SourceCommit& commit) {
  source_commit = commit;
}

}  // namespace divvy::cli
