// The grammar of `divvy doctor`.
#include <CLI/CLI.hpp>

#include "parser/define.h"

namespace divvy::cli {

void Grammar::addDoctor() {
  CLI::App* doctor = add("doctor", "Check this machine, and the cluster, for faults", makeDoctor);
  DoctorText& text = raw.doctor;
  doctor->add_flag("--node", text.node, "only this machine");
  addSwitch(doctor, "only the cluster");
  doctor->add_option("--only", text.only, "only these checks; --list names them [all]")
      ->delimiter(',')
      ->type_name("ID,...");
  doctor->add_flag("--list", text.list, "list the checks, run none");
  doctor->add_flag("-v,--verbose", text.verbose, "also passed checks, in full");
  doctor->add_option("--root", text.root, "root file system of the machine to check [/]")
      ->type_name("DIR");
  doctor
      ->add_option("--runtime-dir", text.runtime_dir,
                   "agents' directory, beside the usual ones [DIVVY_RUNTIME_DIR, /run/divvy]")
      ->type_name("DIR");
  doctor
      ->add_option("--install-dir", text.install_dir,
                   "installation directory, as the agent has it [/var/lib/divvy]")
      ->type_name("DIR");
  doctor
      ->add_option("--kubelet-dir", text.kubelet_dir,
                   "kubelet's directory, as the agent has it [/var/lib/kubelet]")
      ->type_name("DIR");
  doctor
      ->add_option("--node-settings", text.node_settings,
                   "node settings, as the agent has them, if no agent runs [named by agents, "
                   "/etc/default/divvy-agent and pods; /etc/divvy/node-settings.yaml]")
      ->type_name("FILE");
  doctor
      ->add_option("--bundle", text.bundle,
                   "write an archive for support; docs/operations/doctor.md lists its contents")
      ->type_name("FILE.tar.gz");
  doctor->add_flag("--redact-names", text.redact_names,
                   "replace names of pods, namespaces, nodes and tenants by numbers in the bundle");
  doctor->add_flag("--force", raw.force, "replace an existing bundle");
  addReach(doctor);
  doctor->add_option("-o,--output", raw.output, "output format [table]")->type_name("table|json");
}

}  // namespace divvy::cli
