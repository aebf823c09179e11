#include "container/cdi_spec.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>

#include "base/plain_file.h"
#include "base/replace_file.h"

namespace divvy::agent {
namespace {

constexpr std::size_t kMaxSpec = 1u << 20;

Error ioError(const std::string& what) {
  return {ErrorCode::kIo, what + ": " + std::strerror(errno)};
}

std::string contentOf(const std::string& path) {
  const Result<std::string> text = readPlainFile(path, kMaxSpec);
  return text ? *text : std::string();
}

Result<void> checkFree(const std::string& file, const std::string& name) {
  if (access(file.c_str(), F_OK) != 0) return {};
  const std::string control = controlIn(contentOf(file));
  if (control.empty())
    return Error{
        ErrorCode::kUsage,
        file + " exists and was not written by Divvy; accepted: another name or directory"};
  // A file of a share that no longer exists has no owner.
  if (access(control.c_str(), F_OK) == 0)
    return Error{ErrorCode::kUsage, file + " belongs to share \"" + name +
                                        "\" of another agent; accepted: another name"};
  return {};
}

}  // namespace

Result<void> checkCdiName(const std::string& name) {
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (!name.empty() && plain(name.front()) && plain(name.back())) return {};
  return Error{ErrorCode::kUsage, "\"" + name +
                                      "\" cannot name a device; accepted: letters, digits, '.', "
                                      "'_' or '-', the first and the last a letter or digit"};
}

std::string cdiFileOf(const std::string& dir, const std::string& name) {
  return dir + "/divvy.dev-share-" + name + ".json";
}

Result<void> writeCdi(const std::string& file, const std::string& name,
                      const ContainerEdits& edits) {
  if (Result<void> free = checkFree(file, name); !free) return free;
  return replaceCdi(file, cdiSpec(kCdiKind, name, edits));
}

Result<void> replaceCdi(const std::string& file, const std::string& text) {
  const std::string dir = file.substr(0, file.rfind('/'));
  if (mkdir(dir.c_str(), 0755) == 0) {
    // Independent of the umask: runtimes of all users read there.
    if (chmod(dir.c_str(), 0755) != 0) return ioError("opening " + dir);
  } else if (errno != EEXIST) {
    return ioError("creating " + dir);
  }
  return replaceFile(dir, file.substr(dir.size() + 1), text, 0644);
}

void removeCdi(const std::string& file, const std::string& control) {
  if (controlIn(contentOf(file)) == control) unlink(file.c_str());
}

}  // namespace divvy::agent
