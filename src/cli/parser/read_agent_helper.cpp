// `divvy agent-helper`: its grammar, and its options from words.
#include <CLI/CLI.hpp>
#include <utility>

#include "config/node_choice.h"
#include "parser/define.h"

namespace divvy::cli {
namespace {

// Source: user_namespaces(7): the last number is that of unmapped users.
constexpr unsigned kMaxUser = 4294967294;

}  // namespace

void Grammar::addAgentHelper() {
  CLI::App* helper = add(
      "agent-helper", "Run the privileged operations of a node's agent (--helper), and no others",
      makeAgentHelper);
  AgentHelperText& text = raw.agent_helper;
  helper->add_option("--node", raw.node, "gpu, or sim-<profile>, as the agent has it [gpu]")
      ->type_name("NODE");
  helper
      ->add_option("--agent-user", text.agent_user, "user ID that is served, beside root's [65532]")
      ->type_name("UID");
  helper
      ->add_option("--kubelet-dir", text.kubelet_dir,
                   "kubelet's directory, as the agent has it [/var/lib/kubelet]")
      ->type_name("DIR");
  helper
      ->add_option("--install-dir", text.install_dir,
                   "installation directory, as the agent has it; the agent may write there [none]")
      ->type_name("DIR");
  helper
      ->add_option("--cdi-dir", text.cdi_dir,
                   "directory of CDI devices; none: write no devices [/var/run/cdi]")
      ->type_name("DIR");
}

Result<Options> makeAgentHelper(const RawOptions& raw) {
  const AgentHelperText& text = raw.agent_helper;
  agent::HelperOptions options;
  if (!text.agent_user.empty()) {
    const Result<unsigned> user = parseCount(text.agent_user, "--agent-user", 1, kMaxUser);
    if (!user) return user.error();
    options.agent_uid = *user;
  }
  if (!raw.node.empty()) {
    Result<agent::Node> node = nodeForAgent(raw.node);
    if (!node) return node.error();
    options.node = std::move(*node);
  }
  if (!text.kubelet_dir.empty()) options.kubelet_dir = text.kubelet_dir;
  options.install_dir = text.install_dir;
  if (!text.cdi_dir.empty()) options.cdi_dir = text.cdi_dir == "none" ? "" : text.cdi_dir;
  for (const auto& [dir, option] :
       {std::pair(options.kubelet_dir, "--kubelet-dir"),
        std::pair(options.install_dir, "--install-dir"), std::pair(options.cdi_dir, "--cdi-dir")})
    if (!dir.empty() && dir[0] != '/')
      return Error{ErrorCode::kUsage, std::string(option) + " \"" + dir +
                                          "\" is relative; an absolute path is accepted"};
  return Options{AgentHelperOptions{std::move(options)}};
}

}  // namespace divvy::cli
