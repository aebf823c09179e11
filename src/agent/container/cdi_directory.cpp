#include "container/cdi_directory.h"

#include <dirent.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/plain_file.h"
#include "container/cdi_spec.h"
#include "helper/remote.h"
#include "log/log.h"

namespace divvy::agent {
namespace {

constexpr const char* kPrefix = "divvy.dev-pod-";
constexpr std::size_t kMaxSpec = 1u << 20;

Error ioError(const std::string& what) {
  return {ErrorCode::kIo, what + ": " + std::strerror(errno)};
}

}  // namespace

std::string CdiDirectory::fileOf(const std::string& tenant) const {
  return dir_ + "/" + kPrefix + tenant + ".json";
}

Result<void> CdiDirectory::open() {
  if (!link_ && mkdir(dir_.c_str(), 0755) != 0 && errno != EEXIST)
    return ioError("creating " + dir_);
  if (access(dir_.c_str(), R_OK | X_OK | (link_ ? 0 : W_OK)) != 0)
    return ioError("writing into " + dir_);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(dir_.c_str()), closedir);
  if (!folder) return ioError("reading " + dir_);
  while (const dirent* entry = readdir(folder.get())) {
    if (!std::string_view(entry->d_name).starts_with(kPrefix)) continue;
    const std::string file = dir_ + "/" + entry->d_name;
    const Result<std::string> text = readPlainFile(file, kMaxSpec);
    const std::string control = text ? controlIn(*text) : std::string();
    if (control.empty()) continue;
    if (access(control.c_str(), F_OK) == 0) {
      read_[entry->d_name] = true;
      continue;
    }
    if (remove(entry->d_name))
      log::info("removed the CDI file of a container that has ended", {{"file", file}});
  }
  Fd watch(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!watch.valid() || inotify_add_watch(watch.get(), dir_.c_str(), IN_OPEN | IN_MOVED_TO) < 0)
    return ioError("watching " + dir_);
  watch_ = std::move(watch);
  return {};
}

Result<void> CdiDirectory::write(const std::string& tenant, const std::string& text) {
  const std::string file = fileOf(tenant);
  // Events of earlier files are handled first.
  drain();
  const std::string name = file.substr(dir_.size() + 1);
  if (Result<void> written = replace(name, text); !written) return written;
  read_[name] = false;
  return {};
}

Result<void> CdiDirectory::replace(const std::string& name, const std::string& text) {
  return link_ ? helper::writeSpec(*link_, name, text) : replaceCdi(dir_ + "/" + name, text);
}

bool CdiDirectory::remove(const std::string& name) {
  if (link_) return helper::removeSpec(*link_, name).has_value();
  return unlink((dir_ + "/" + name).c_str()) == 0;
}

bool CdiDirectory::wasRead(const std::string& tenant) {
  drain();
  const auto known = read_.find(fileOf(tenant).substr(dir_.size() + 1));
  return known == read_.end() || known->second;
}

void CdiDirectory::keepOnly(const std::set<std::string>& tenants) {
  std::set<std::string> kept;
  for (const std::string& tenant : tenants) kept.insert(fileOf(tenant).substr(dir_.size() + 1));
  std::erase_if(read_, [&](const auto& one) {
    if (kept.contains(one.first)) return false;
    const std::string file = dir_ + "/" + one.first;
    // The files of tenants that this agent ended were removed with them.
    if (access(file.c_str(), F_OK) == 0 && !remove(one.first))
      log::warn("cannot remove the CDI file of a container that has ended", {{"file", file}});
    return true;
  });
}

void CdiDirectory::drain() {
  alignas(inotify_event) std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t got = ::read(watch_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    for (ssize_t at = 0; at < got;) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* name = buffer.data() + at + sizeof event;
      at += static_cast<ssize_t>(sizeof event + event.len);
      if ((event.mask & IN_Q_OVERFLOW) != 0)
        for (auto& [file, read] : read_) read = true;
      const auto known = event.len == 0 ? read_.end() : read_.find(name);
      if (known == read_.end()) continue;
      // A file that was renamed to this name is new and was not read.
      known->second = (event.mask & IN_OPEN) != 0;
    }
  }
}

}  // namespace divvy::agent
