#include "web_files.h"

namespace divvy::console {

const std::vector<WebFile>& webFiles() {
  static const std::vector<WebFile> files;
  return files;
}

}  // namespace divvy::console
