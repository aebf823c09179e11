#include "base/received_fd.h"

#include <cstddef>
#include <cstring>
#include <utility>

namespace divvy {

Fd takeDescriptor(msghdr& message) {
  Fd first;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      Fd owned(fd);
      if (!first.valid()) first = std::move(owned);
    }
  }
  return first;
}

}  // namespace divvy
