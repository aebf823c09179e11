// The grammar of `divvy hub`.
#include "parser/define.h"

namespace divvy::cli {
namespace {

constexpr const char* kHelp = R"(Examples:
  divvy hub --clusters clusters.kubeconfig
  divvy hub --clusters clusters.kubeconfig --dispatch --on-demand cloud-a --spill-after 10m
  divvy hub --print kueue --vendors nvidia
  curl -s http://127.0.0.1:9450/api/v1/clusters | jq .

Reads the free capacity of each context's cluster every 5 s and serves it. With --dispatch, it is
the dispatcher divvy.dev/dispatcher of Kueue's MultiKueue in the cluster of --kubeconfig: it
nominates the worker cluster in which a job fits now, private before reserved before on demand. The
names of the contexts are those of the MultiKueueClusters. It needs permission to get and create
services/proxy of the scheduler's Service in each cluster. Several hubs may run.)";

}  // namespace

void Grammar::addHub() {
  CLI::App* hub =
      add("hub", "Serve the capacity of several clusters, and dispatch jobs to them", makeHub);
  hub->footer(kHelp);
  HubText& text = raw.hub;
  hub->add_option("--clusters", text.clusters,
                  "kubeconfig with one context per cluster; several with ':'")
      ->type_name("FILE");
  hub->add_option("--contexts", raw.cluster.contexts, "contexts of --clusters [all]")
      ->delimiter(',')
      ->type_name("NAME,...");
  hub->add_option("--listen", text.listen,
                  "address to serve; port 0: any free one [127.0.0.1:9450]")
      ->type_name("HOST:PORT");
  hub->add_flag("--dispatch", text.dispatch,
                "nominate worker clusters for workloads of Kueue in the cluster of --kubeconfig");
  hub->add_option("--reserved", text.reserved,
                  "clusters that are paid already; they come after private ones")
      ->delimiter(',')
      ->type_name("NAME,...");
  hub->add_option("--on-demand", text.on_demand,
                  "clusters that are paid while used; they come last")
      ->delimiter(',')
      ->type_name("NAME,...");
  hub->add_option("--spill-after", text.spill_after,
                  "time that a job waits for other clusters before an --on-demand one [0s]")
      ->type_name("TIME");
  hub->add_flag("--kueue-clears-nominations", text.clears_nominations,
                "Kueue's admission policy that clears nominations is installed");
  hub->add_option("--print", text.print,
                  "print and exit: Kueue's configuration for the manager cluster")
      ->type_name("kueue");
  hub->add_option("--vendors", raw.cluster.vendors, "with --print: vendors of the devices [all]")
      ->delimiter(',')
      ->type_name("NAME,...");
  hub->add_option("--divvy-namespace", raw.cluster.divvy_namespace,
                  "namespace of Divvy in each cluster [divvy-system]")
      ->type_name("NAME");
  hub->add_option("--scheduler-service", raw.cluster.scheduler_service,
                  "Service of the scheduler [divvy-scheduler]")
      ->type_name("NAME");
  addConnection(hub);
}

}  // namespace divvy::cli
