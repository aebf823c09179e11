// The files of the web page, which are built into the program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/static_file.h"

namespace divvy::console {

struct WebFile {
  std::string path;  // "index.html", "assets/app-1a2b3c.js"
  http::StaticFile file;
};

// Ascending by path. Empty in a build without the page (-DDIVVY_CONSOLE=OFF).
const std::vector<WebFile>& webFiles();

}  // namespace divvy::console
