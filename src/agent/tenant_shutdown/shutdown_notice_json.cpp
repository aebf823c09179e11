#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "api/protocol_json.h"
#include "base/fd.h"
#include "tenant_shutdown/shutdown_notice.h"

namespace divvy::agent {

std::string noticePath(const std::string& tenant_dir) {
  return tenant_dir + "/notice.json";
}

Result<void> writeNotice(const std::string& tenant_dir, const ShutdownNotice& notice) {
  const std::string path = noticePath(tenant_dir);
  const std::string temporary = path + ".new";
  const auto failed = [&] {
    const Error error{ErrorCode::kIo, "writing " + path + ": " + std::strerror(errno)};
    unlink(temporary.c_str());
    return error;
  };
  json::bj::object object{{"tenant", notice.tenant},
                          {"name", json::clean(notice.name)},
                          {"reason", "idle"},
                          {"idle_s", notice.idle_ms / 1000},
                          {"deadline", notice.deadline},
                          {"notice_s", notice.notice_ms / 1000},
                          {"grace_s", notice.grace_ms / 1000}};
  object["text"] =
      "idle for long: SIGTERM at the deadline, SIGKILL after the grace period; work on its devices "
      "before cancels it";
  const std::string text = json::pretty(object);
  unlink(temporary.c_str());
  Fd file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0660));
  if (!file.valid()) return failed();
  const ssize_t put = write(file.get(), text.data(), text.size());
  file.reset();
  if (put != static_cast<ssize_t>(text.size()) || rename(temporary.c_str(), path.c_str()) != 0)
    return failed();
  return {};
}

void removeNotice(const std::string& tenant_dir) {
  unlink(noticePath(tenant_dir).c_str());
}

}  // namespace divvy::agent
