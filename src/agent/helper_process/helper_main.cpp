#include "agent/helper_main.h"

#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "agent/install_layout.h"
#include "device/open_driver.h"
#include "helper/server.h"
#include "helper/shared_dirs.h"
#include "helper_process/helper_args.h"
#include "kubelet/kubelet_dirs.h"
#include "log/log.h"

namespace divvy::agent {

Result<void> serveHelper(const HelperOptions& options) {
  // Files for the agent are accessible to the group.
  umask(007);
  log::open("");
  const Result<std::string> root = runtimeRoot();
  if (!root) return root.error();
  const Result<InstallLayout> install = findInstall();
  if (!install) return install.error();
  const NodePaths paths(*root, options.node);
  std::vector<std::string> lent{paths.root(), paths.dir()};
  if (!options.install_dir.empty()) lent.push_back(options.install_dir);
  for (const std::string& folder : lent)
    if (Result<void> good = helper::shareDir(folder); !good) return good;
  // The agent reads this directory and writes to it through the helper.
  if (!options.cdi_dir.empty() && mkdir(options.cdi_dir.c_str(), 0755) == 0)
    static_cast<void>(chmod(options.cdi_dir.c_str(), 0755));
  const helper::ServerOptions terms{
      paths.helper(),
      options.agent_uid,
      lent,
      std::make_shared<kubelet::LocalKubeletDirs>(options.kubelet_dir),
      options.cdi_dir,
      [&] { return openDriver(options.node, paths, *install); },
      [](const std::string& line) {
        static std::mutex saying;
        const std::lock_guard<std::mutex> hold(saying);
        log::info(line);
      },
      {install->sim_dir},
      options.node.simulated() ? paths.dir() : ""};
  const Result<void> served = helper::serve(terms);
  // Without the helper nothing is created here, and earlier versions require these directories to
  // be root's alone.
  for (const std::string& folder : {paths.dir(), paths.root()}) {
    helper::unshareDir(folder);
    // Removes empty directories only.
    if (served) rmdir(folder.c_str());
  }
  return served;
}

Result<void> serveHelper(const std::vector<std::string>& words) {
  const Result<HelperOptions> options = optionsOf(words);
  if (!options) return options.error();
  return serveHelper(*options);
}

}  // namespace divvy::agent
