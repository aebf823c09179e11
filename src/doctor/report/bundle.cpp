#include "doctor/bundle.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <boost/json.hpp>

#include "base/fd.h"
#include "base/rfc3339.h"
#include "report/format.h"

namespace divvy::doctor {
namespace {

namespace json = boost::json;

Error failed(const std::string& doing) {
  return {ErrorCode::kIo, doing + ": " + std::strerror(errno)};
}

Error isThere(const std::string& path) {
  return {ErrorCode::kUsage, path + " exists already; accepted: another name, or --force"};
}

Result<void> fill(const Fd& file, const std::string& bytes, const std::string& path) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t put = write(file.get(), bytes.data() + at, bytes.size() - at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return failed("writing " + path);
    at += static_cast<std::size_t>(put);
  }
  if (fchmod(file.get(), 0600) != 0 || fsync(file.get()) != 0) return failed("writing " + path);
  return {};
}

Result<void> place(const std::string& fresh, const std::string& path, bool force) {
  if (force) {
    if (rename(fresh.c_str(), path.c_str()) != 0) return failed("writing " + path);
    return {};
  }
  int done = renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE);
  // Some file systems do not support flags; link() does not replace a file either.
  if (done != 0 && errno == EINVAL) {
    done = link(fresh.c_str(), path.c_str());
    if (done == 0) unlink(fresh.c_str());
  }
  if (done != 0 && errno == EEXIST) return isThere(path);
  if (done != 0) return failed("writing " + path);
  return {};
}

}  // namespace

std::string manifestOf(const Bundle& bundle) {
  json::array files, omitted;
  for (const BundleFile& one : bundle.files)
    files.push_back(
        json::object{{"name", one.name}, {"bytes", one.text.size()}, {"what", one.what}});
  for (const OmittedFile& one : bundle.omitted)
    omitted.push_back(json::object{{"what", one.what}, {"why", one.why}});
  return json::serialize(json::object{{"form", 1},
                                      {"divvy", bundle.version},
                                      {"written", formatRfc3339(bundle.written_ms / 1000)},
                                      {"names_redacted", bundle.redacted},
                                      {"files", std::move(files)},
                                      {"left_out", std::move(omitted)}}) +
         "\n";
}

Result<void> mayWriteBundle(const std::string& path, bool force) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return {};
  if (!force) return isThere(path);
  if (!S_ISREG(info.st_mode))
    return Error{ErrorCode::kUsage, path + " is not a file; accepted: a file, or a new name"};
  return {};
}

Result<void> writeBundle(const std::string& path, const std::string& bytes, bool force) {
  if (const Result<void> may = mayWriteBundle(path, force); !may) return may;
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  std::string fresh = folder + ".divvy-bundle-XXXXXX";
  const Fd file(mkostemp(fresh.data(), O_CLOEXEC));
  if (!file.valid()) return failed("writing " + path);
  Result<void> good = fill(file, bytes, path);
  if (good) good = place(fresh, path, force);
  if (!good) unlink(fresh.c_str());
  return good;
}

}  // namespace divvy::doctor
