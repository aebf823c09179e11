// The grammar of `divvy doctor`.
#include <CLI/CLI.hpp>

#include "parser/define.h"

namespace divvy::cli {

void Grammar::addDoctor() {
  CLI::App* doctor =
      add("doctor", "Look for what is wrong with this machine, and the cluster", makeDoctor);
  DoctorText& text = raw.doctor;
  doctor->add_flag("--node", text.node, "only this machine");
  addSwitch(doctor, "only the cluster");
  doctor->add_option("--only", text.only, "only these checks; --list names them [all]")
      ->delimiter(',')
      ->type_name("ID,...");
  doctor->add_flag("--list", text.list, "what checks there are, and make none");
  doctor->add_flag("-v,--verbose", text.verbose, "what is well, too, in full");
  doctor->add_option("--root", text.root, "a machine's root, where it is mounted [/]")
      ->type_name("DIR");
  doctor
      ->add_option("--runtime-dir", text.runtime_dir,
                   "where agents are, beside the usual places [DIVVY_RUNTIME_DIR, /run/divvy]")
      ->type_name("DIR");
  doctor->add_option("--install-dir", text.install_dir, "as the agent was told [/var/lib/divvy]")
      ->type_name("DIR");
  doctor->add_option("--kubelet-dir", text.kubelet_dir, "likewise [/var/lib/kubelet]")
      ->type_name("DIR");
  doctor
      ->add_option("--node-settings", text.node_settings,
                   "as the agent was told, where it does not run to say so [what agents, "
                   "/etc/default/divvy-agent and pods name; /etc/divvy/node-settings.yaml]")
      ->type_name("FILE");
  doctor
      ->add_option("--bundle", text.bundle,
                   "write an archive for whoever is asked for help; docs/operations/doctor.md: "
                   "what is in it")
      ->type_name("FILE.tar.gz");
  doctor->add_flag("--redact-names", text.redact_names,
                   "numbers in the bundle in place of names of pods, namespaces, nodes, tenants");
  doctor->add_flag("--force", raw.force, "write the bundle over what is there");
  addReach(doctor);
  doctor->add_option("-o,--output", raw.output, "how to print it [table]")->type_name("table|json");
}

}  // namespace divvy::cli
