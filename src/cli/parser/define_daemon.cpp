// The grammar of `divvy scheduler` and `divvy agent`, from the lists in daemon_options.
#include <span>
#include <stdexcept>
#include <string_view>
#include <variant>

#include <CLI/CLI.hpp>

#include "daemon_options/daemon_options.h"
#include "parser/define.h"

namespace divvy::cli {
namespace {

using daemon_options::DaemonOption;
using daemon_options::Form;
using Target = std::variant<std::string*, std::vector<std::string>*, bool*>;
using Targets = std::map<std::string_view, Target>;

void addFlag(CLI::App* command, const DaemonOption& option, const Target& target) {
  command->add_flag("--" + std::string(option.option), *std::get<bool*>(target),
                    daemon_options::helpOf(option));
}

void addValues(CLI::App* command, const DaemonOption& option, const Target& target) {
  CLI::Option* added = command->add_option("--" + std::string(option.option),
                                           *std::get<std::vector<std::string>*>(target),
                                           daemon_options::helpOf(option));
  if (option.form == Form::kList) added->delimiter(',');
  added->type_name(std::string(option.type));
  // Each repetition takes one value, so that the next word is not taken for a second one.
  if (option.form == Form::kRepeated) added->expected(1)->take_all()->allow_extra_args(false);
}

void addValue(CLI::App* command, const DaemonOption& option, const Target& target) {
  command
      ->add_option("--" + std::string(option.option), *std::get<std::string*>(target),
                   daemon_options::helpOf(option))
      ->type_name(std::string(option.type));
}

// std::logic_error: list and targets differ.
void addAll(CLI::App* command, std::span<const DaemonOption> options, const Targets& targets) {
  if (targets.size() != options.size()) throw std::logic_error("targets without an option");
  for (const DaemonOption& option : options) {
    const auto target = targets.find(option.option);
    if (target == targets.end())
      throw std::logic_error("no target of --" + std::string(option.option));
    switch (option.form) {
      case Form::kFlag:
        addFlag(command, option, target->second);
        break;
      case Form::kList:
      case Form::kRepeated:
        addValues(command, option, target->second);
        break;
      case Form::kValue:
        addValue(command, option, target->second);
        break;
    }
  }
}

}  // namespace

void Grammar::addScheduler() {
  CLI::App* scheduler =
      add("scheduler", "Run the scheduler extender and the webhook of a cluster", makeScheduler);
  SchedulerText& text = raw.scheduler;
  const Targets targets{
      {"kubeconfig", &text.kubeconfig},
      {"context", &text.context},
      {"scheduler-name", &text.name},
      {"vendors", &text.vendors},
      {"device-config", &text.device_config},
      {"listen", &text.listen},
      {"webhook-listen", &text.webhook_listen},
      {"cert-file", &text.certificate},
      {"key-file", &text.key},
      {"cert-secret", &text.secret},
      {"webhook-config", &text.registration},
      {"cert-names", &text.names},
      {"cert-life", &text.life},
      {"node-policy", &text.node_policy},
      {"device-policy", &text.device_policy},
      {"pools", &text.pools},
      {"model-resources", &text.model_resources},
      {"priority-class", &text.priority_class},
      {"priority-value", &text.priority_value},
      {"compat", &text.compat},
      {"min-runtime", &text.min_runtime},
      {"most-different-shares", &text.most_different_shares},
      {"inventory-learning", &text.inventory_learning},
      {"idle-notice", &text.idle_notice},
      {"idle-url", &text.idle_url},
      {"idle-ca", &text.idle_ca},
      {"idle-extension", &text.idle_extension},
      {"bypass-notice", &text.bypass_notice},
      {"all-feasible", &text.all_feasible},
      {"print", &text.print},
      {"writers", &text.writers},
      {"binders", &text.binders},
      {"other-schedulers", &text.others},
      {"metrics-listen", &text.metrics_listen},
      {"compat-metrics", &text.compat_metrics},
      {"deprecated-names", &text.deprecated_names},
      {"hami-label", &text.hami_label},
      {"locks", &text.locks},
      {"handshakes", &text.handshakes},
      {"lease", &text.lease},
      {"identity", &text.identity},
      {"ports-file", &text.ports},
  };
  addAll(scheduler, daemon_options::schedulerOptions(), targets);
}

void Grammar::addAgent() {
  CLI::App* agent = add(
      "agent", "Run the agent in the foreground (other commands start it when needed)", makeAgent);
  ClusterNodeText& node = raw.cluster_node;
  const Targets targets{
      {"node", &raw.node},
      {"idle-exit", &raw.idle_exit},
      {"overcommit", &raw.memory_terms.overcommit},
      {"device-budget", &raw.memory_terms.budget},
      {"host-reserve", &raw.memory_terms.host_reserve},
      {"checkpoint", &raw.memory_terms.checkpoint},
      {"host-map", &raw.memory_terms.host_map},
      {"swap-chunk", &raw.memory_terms.chunk},
      {"swap-quantum", &raw.memory_terms.quantum},
      {"idle-reclaim", &raw.idle.reclaim},
      {"idle-stop", &raw.idle.stop},
      {"idle-notice", &raw.idle.notice},
      {"idle-grace", &raw.idle.grace},
      {"idle-hook", &raw.idle.hook},
      {"on-bypass", &raw.bypass.on},
      {"bypass-notice", &raw.bypass.notice},
      {"pools", &raw.pools},
      {"device-policy", &raw.device_policy},
      {"log-file", &raw.log_file},
      {"node-name", &node.name},
      {"kubeconfig", &node.kubeconfig},
      {"context", &node.context},
      {"helper", &node.by_helper},
      {"kubelet-dir", &node.kubelet_dir},
      {"install-dir", &node.install_dir},
      {"injection", &node.injection},
      {"cdi-dir", &node.cdi_dir},
      {"dialect", &node.dialect},
      {"resource", &node.resources},
      {"model-names", &node.model_names},
      {"model-resources", &node.model_resources},
      {"announce-memory", &node.announce_memory},
      {"announce-cores", &node.announce_cores},
      {"per-device", &node.per_device},
      {"announce-numa", &node.announce_numa},
      {"node-settings", &node.settings},
      {"metrics-listen", &node.metrics_listen},
      {"metrics-labels", &node.metrics_labels},
      {"compat-metrics", &node.compat_metrics},
      {"deprecated-names", &node.deprecated_names},
  };
  addAll(agent, daemon_options::agentOptions(), targets);
  // Between the processes of one start only: not in --help.
  agent->add_option("--ready-fd", raw.ready_fd)->group("");
}

}  // namespace divvy::cli
