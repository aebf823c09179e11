// The grammar of `divvy share`: shares that are kept under a name.
#include "parser/define.h"

namespace divvy::cli {

void Grammar::addShare() {
  CLI::App* share = add("share", "Manage named shares, which outlive their containers", nullptr);
  share->require_subcommand(1);
  CLI::App* create = add(
      "create", "Create a share, and its CDI device for podman and docker",
      [](const RawOptions& r) { return makeShare(ShareOptions::What::kCreate, r); }, share);
  create->add_option("NAME", raw.name, "name of the share: divvy.dev/share=NAME")->required();
  addMemory(create);
  addPressure(create, true);
  addIdle(create, true);
  addCompute(create, true);
  addPlace(create);
  waits.push_back(addTerm(create, "wait", raw.wait)->expected(0, 1));
  create->add_option("--cdi-dir", raw.cdi_dir, "directory of CDI devices [/run/cdi]")
      ->type_name("DIR");
  CLI::App* remove = add(
      "rm", "Remove a share that no container uses",
      [](const RawOptions& r) { return makeShare(ShareOptions::What::kRemove, r); }, share);
  remove->add_option("NAME", raw.name, "name of the share")->required();
  addSim(remove, "only this simulated node");
}

}  // namespace divvy::cli
