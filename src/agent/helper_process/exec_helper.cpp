#include "agent/exec_helper.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "agent/install_layout.h"
#include "helper_process/helper_args.h"

namespace divvy::agent {

Error becomeHelper(const HelperOptions& options) {
  const Result<InstallLayout> install = findInstall();
  if (!install) return install.error();
  std::string program = install->executable;
  program.replace(program.rfind('/') + 1, std::string::npos, "divvy-agent-helper");
  std::vector<std::string> words = wordsOf(options);
  std::vector<char*> all{program.data()};
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  execv(program.c_str(), all.data());
  return {ErrorCode::kIo,
          program + " cannot be run: " + std::strerror(errno) + "; it belongs beside bin/divvy"};
}

}  // namespace divvy::agent
