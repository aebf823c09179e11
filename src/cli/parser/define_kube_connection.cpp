// The grammar of access to a cluster: kubectl's options.
#include <CLI/CLI.hpp>

#include "options/kubectl_options.h"
#include "parser/define.h"

namespace divvy::cli {
namespace {

constexpr const char* kGroup = "Connection to a cluster, as with kubectl";

}  // namespace

// A kubectl plugin always refers to a cluster, and its --cluster is kubectl's: the name of one.
void Grammar::addSwitch(CLI::App* command, const std::string& text) {
  if (!raw.plugin) command->add_flag("--cluster", raw.cluster.cluster, text);
}

void Grammar::addConnection(CLI::App* command, Namespaces namespaces) {
  ConnectionText& text = raw.cluster.connection;
  for (const ConnectionOption& one : reachOptions())
    command->add_option(one.names, text.*one.text, one.help)
        ->type_name(one.type)
        ->take_last()
        ->group(kGroup);
  command
      ->add_option("--as-group", text.as_groups, "group to impersonate, with --as; may be repeated")
      ->type_name("GROUP")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->group(kGroup);
  command
      ->add_flag("--insecure-skip-tls-verify", text.insecure,
                 "do not verify the server's certificate (insecure)")
      ->group(kGroup);
  if (!raw.plugin) return;
  command->add_option("--cluster", text.cluster, "cluster of the kubeconfig [the context's]")
      ->type_name("NAME")
      ->take_last()
      ->group(kGroup);
  if (namespaces == Namespaces::kOwn) return;
  command
      ->add_option("-n,--namespace", raw.cluster.idle_namespace,
                   "ignored: this command has no namespace")
      ->type_name("NAME")
      ->take_last()
      ->group(kGroup);
  command->add_flag("-A,--all-namespaces", raw.cluster.idle_all_namespaces, "ignored, as -n")
      ->group(kGroup);
}

}  // namespace divvy::cli
