// The grammar of `divvy simulate`.
#include "parser/define.h"

namespace divvy::cli {

// Outputs and number of runs of all simulations.
void Grammar::addSimulation(CLI::App* command, const std::string& seeds) {
  SimulateText& text = raw.simulate;
  command
      ->add_option("--seeds", text.seeds, "number of runs, each with its own seed [" + seeds + "]")
      ->type_name("N");
  command->add_option("--first-seed", text.first_seed, "first seed; the others follow it [42]")
      ->type_name("N");
  command->add_option("--json", text.json, "write all figures to this file")->type_name("FILE");
  command->add_option("--svg", text.svg, "draw the figures to this file")->type_name("FILE");
  command->add_option("--jobs", text.jobs, "parallel runs [processors]")->type_name("N");
}

void Grammar::addSimulate() {
  CLI::App* simulate =
      add("simulate", "Replay production traces through the placement engine", nullptr);
  simulate->require_subcommand(1);
  SimulateText& text = raw.simulate;
  const auto traced = [&](const std::string& name, const std::string& what, Maker make) {
    CLI::App* command = add(name, what, std::move(make), simulate);
    command->add_option("--nodes", text.nodes, "CSV of nodes")->type_name("FILE")->required();
    return command;
  };
  CLI::App* openb =
      traced("openb", "Replay the openb trace with the protocol of the FGD paper", makeOpenb);
  openb->add_option("--pods", text.pods, "CSV of pods; several may follow")
      ->type_name("FILE")
      ->expected(-1)
      ->required();
  openb->add_option("--policy", text.policies, "placement policy; several may follow [divvy]")
      ->type_name("random|dotprod|clustering|packing|bestfit|fgd|divvy|published|all")
      ->expected(-1);
  openb->add_option("--tune", text.tune, "demand, as a multiple of the GPUs [1.3]")
      ->type_name("RATIO");
  openb
      ->add_option("--sample", text.sample,
                   "part of the nodes that is evaluated, as kube-scheduler does [100%]")
      ->type_name("PERCENT");
  addSimulation(openb, "10");
  CLI::App* plan = traced(
      "plan", "Compare the GPUs a workload needs, shared and with one device each", makePlan);
  plan->add_option("--pods", text.pods, "CSV of pods")->type_name("FILE")->required();
  plan->add_option("--overcommit", text.overcommit,
                   "promised memory, as a multiple of a device's [1.0,1.2,1.25,1.3,1.5,2.0]")
      ->type_name("R,...");
  plan->add_option("--policy", text.policies, "placement policy [packing]")
      ->type_name("random|dotprod|clustering|packing|bestfit|fgd|divvy");
  plan->add_flag("--cards-only", text.cards_only, "ignore processors and memory of nodes");
  addSimulation(plan, "3");
  addOutput(plan);
  CLI::App* day = add(
      "day", "Simulate days of services, sandboxes and batch jobs, shared and with one device each",
      makeDay, simulate);
  day->add_option("scenario", text.scenario, "YAML file: clusters, workloads, sharing")
      ->type_name("FILE")
      ->required();
  day->add_option("--overcommit", text.overcommit,
                  "promised memory, as a multiple of a device's [the scenario's]")
      ->type_name("R,...");
  addSimulation(day, "3");
  addOutput(day);
  addDefrag(simulate);
  addReplay(simulate);
}

void Grammar::addDefrag(CLI::App* simulate) {
  SimulateText& text = raw.simulate;
  CLI::App* defrag = add("defrag", "Plan moves of requests that free whole devices or nodes",
                         makeDefrag, simulate);
  defrag->add_option("snapshot", text.snapshot, "file written by divvy snapshot")
      ->type_name("FILE")
      ->required();
  defrag->add_option("--goal", text.goal, "what the moves should free [devices]")
      ->type_name("devices|nodes|fragmentation");
  defrag->add_option("--most-moves", text.most_moves, "maximum number of moves [64]")
      ->type_name("N");
  addOutput(defrag);
}

void Grammar::addReplay(CLI::App* simulate) {
  SimulateText& text = raw.simulate;
  CLI::App* replay = add("replay", "Decide a snapshot again, offline, and explain the differences",
                         makeReplay, simulate);
  replay->add_option("snapshot", text.snapshot, "file written by divvy snapshot")
      ->type_name("FILE")
      ->required();
  replay->add_option("--policy", text.policies, "node policy [the snapshot's]")
      ->type_name("random|dotprod|clustering|packing|bestfit|fgd|divvy|binpack|spread|weighted")
      ->expected(1);
  replay
      ->add_option("--device-policy", text.device_policy,
                   "device policy, such as mutex,numa-strict,spread [the snapshot's]")
      ->type_name("WORD,...");
  replay->add_flag("--expect-same", text.expect_same, "exit status 1 if any decision differs");
  addOutput(replay);
}

}  // namespace divvy::cli
