#include "base/replace_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/fd.h"

namespace divvy {

Result<void> replaceFile(const std::string& folder, const std::string& name,
                         const std::string& text, mode_t mode) {
  const auto failed = [](const std::string& what) {
    return Error{ErrorCode::kIo, what + ": " + std::strerror(errno)};
  };
  const std::string file = folder + "/" + name;
  std::string fresh = folder + "/.divvy.XXXXXX";
  const Fd fd(mkostemp(fresh.data(), O_CLOEXEC));
  if (!fd.valid()) return failed("writing into " + folder);
  const bool whole =
      ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      fchmod(fd.get(), mode) == 0 && fsync(fd.get()) == 0 &&
      rename(fresh.c_str(), file.c_str()) == 0;
  if (whole) return {};
  Error error = failed("writing " + file);
  unlink(fresh.c_str());
  return error;
}

}  // namespace divvy
