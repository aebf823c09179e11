// The grammar of `divvy console`.
#include "parser/define.h"

namespace divvy::cli {

void Grammar::addConsole() {
  CLI::App* console =
      add("console", "Serve a web page with devices, shares, events and charts", makeConsole);
  ConsoleText& text = raw.console;
  console->add_flag("--local", text.local, "of this machine, from its agents");
  addSwitch(console, "of a cluster, with the rights of the kubeconfig's user");
  console
      ->add_option("--listen", text.listen,
                   "address to serve, loopback with --login link; port 0: any free one "
                   "[127.0.0.1:9400]")
      ->type_name("HOST:PORT");
  console
      ->add_option("--login", text.login,
                   "how a session is opened: by a printed link, by each viewer's Kubernetes token, "
                   "or by a proxy's header fields [link]")
      ->type_name("link|token|headers");
  console
      ->add_option("--trust-headers-from", text.naming,
                   "addresses of the proxy that names viewers in X-Forwarded-User and "
                   "X-Forwarded-Groups, for --login headers")
      ->type_name("CIDR,...");
  console->add_option("--tls-cert", text.certificate, "certificate chain in PEM: serve HTTPS")
      ->type_name("FILE");
  console->add_option("--tls-key", text.key, "private key of --tls-cert in PEM")->type_name("FILE");
  console
      ->add_option("--trusted-proxies", text.proxies,
                   "addresses of reverse proxies: limits count for the clients that they name in "
                   "X-Forwarded-For")
      ->type_name("CIDR,...");
  console
      ->add_option("--name", text.name,
                   "name of the cluster on the page [the context's, else the server's host]")
      ->type_name("NAME");
  console->add_option("--base-path", text.base_path, "path of the page, for a proxy in front [/]")
      ->type_name("/PATH/");
  console
      ->add_option("--history", text.history,
                   "file of the charts, or memory [~/.local/state/divvy/history.sqlite]")
      ->type_name("FILE");
  console
      ->add_option("--prices", text.prices,
                   "YAML file with the price of each device model: usage has its cost")
      ->type_name("FILE");
  console
      ->add_option("--interval", raw.interval,
                   "time between readings, 250ms or more [1s; of a cluster 2s]")
      ->type_name("TIME");
  console
      ->add_option("--team-label", text.team_label,
                   "label of namespaces with the name of their team [divvy.dev/team]")
      ->type_name("KEY");
  console
      ->add_option("--agents", text.agents,
                   "namespace of Divvy's agents, asked for use through the API server; or none "
                   "[divvy-system]")
      ->type_name("NAMESPACE");
  console->add_flag("--allow-changes", text.allow_changes,
                    "make changes from the page, each after a dry run; of a cluster with the "
                    "viewer's own rights");
  addSim(console, "only this simulated node");
  addCluster(console);
  addMinRuntime(console);
}

}  // namespace divvy::cli
