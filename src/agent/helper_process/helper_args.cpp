#include "helper_process/helper_args.h"

#include <charconv>
#include <utility>

namespace divvy::agent {

std::vector<std::string> wordsOf(const HelperOptions& options) {
  return {options.node.name, std::to_string(options.agent_uid), options.kubelet_dir,
          options.cdi_dir, options.install_dir};
}

Result<HelperOptions> optionsOf(const std::vector<std::string>& words) {
  const Error bad{ErrorCode::kUsage, "this program is started by divvy agent-helper"};
  HelperOptions options;
  if (words.size() != wordsOf(options).size()) return bad;
  Result<Node> node = parseNode(words[0]);
  if (!node) return bad;
  options.node = std::move(*node);
  const char* end = words[1].data() + words[1].size();
  const auto [rest, fault] = std::from_chars(words[1].data(), end, options.agent_uid);
  if (fault != std::errc() || rest != end) return bad;
  options.kubelet_dir = words[2];
  options.cdi_dir = words[3];
  options.install_dir = words[4];
  return options;
}

}  // namespace divvy::agent
