#include "files/host_name.h"

#include <limits.h>
#include <unistd.h>

namespace divvy::cli {

std::string hostName() {
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, HOST_NAME_MAX) == 0 ? name : "";
}

}  // namespace divvy::cli
