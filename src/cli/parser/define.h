// The grammar of the command line: subcommands, their options, and what makes values of them.
// Private to parser/parser.cpp and define_*.cpp.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "options/raw_options.h"
#include "share_options/share_options.h"
#include "view/help.h"

namespace divvy::cli {

using Maker = std::function<Result<Options>(const RawOptions&)>;

struct Grammar {
  CLI::App app;
  RawOptions raw;
  std::map<const CLI::App*, Maker> makers;

  // `plugin`: of `kubectl divvy`.
  explicit Grammar(bool plugin);
  // "divvy", "kubectl divvy".
  const std::string& program() const { return app.get_name(); }

 private:
  CLI::App* add(const std::string& name, const std::string& text, Maker make,
                CLI::App* parent = nullptr) {
    CLI::App* command = (parent == nullptr ? &app : parent)->add_subcommand(name, text);
    command->footer(examplesOf((parent == nullptr ? "" : parent->get_name() + " ") + name));
    makers[command] = std::move(make);
    return command;
  }
  void addSim(CLI::App* command, const std::string& text) {
    // Which subcommand's option was given is only known after parsing.
    CLI::Option* option =
        command->add_option("--sim", raw.sim, text)->expected(0, 1)->type_name("[PROFILE]");
    sims.push_back(option);
  }
  // Adds an option of the list in share_options/share_options.h. A type name with '
  // ' lists words, which completion offers.
  template <typename Target>
  CLI::Option* addTerm(CLI::App* command, const std::string& option, Target& target,
                       bool defaults = true) {
    const share_options::ShareOption* term = share_options::ofOption(option);
    if (term == nullptr) throw std::logic_error("no term --" + option);
    return command->add_option("--" + option, target, share_options::helpOf(*term, defaults))
        ->type_name(std::string(term->type));
  }
  void addOutput(CLI::App* command, bool wide = false) {
    command->add_option("-o,--output", raw.output, "output format [table]")
        ->type_name(wide ? "table|wide|json" : "table|json");
    command->add_flag("--no-headers", raw.no_headers, "omit the header line");
  }
  void addCompute(CLI::App* command, bool defaults);
  void addPressure(CLI::App* command, bool defaults);
  void addIdle(CLI::App* command, bool defaults);
  void addMemory(CLI::App* command);
  void addPlace(CLI::App* command);
  void addRun();
  void addShare();
  void addExplain();
  void addViews();
  void addSnapshot();
  // Meaning of -n for a command: its namespace, or nothing, although kubectl accepts it.
  enum class Namespaces { kOwn, kIdle };
  void addSwitch(CLI::App* command, const std::string& text);
  void addConnection(CLI::App* command, Namespaces namespaces = Namespaces::kIdle);
  void addReach(CLI::App* command, Namespaces namespaces = Namespaces::kIdle);
  void addCluster(CLI::App* command, Namespaces namespaces = Namespaces::kIdle);
  void addMinRuntime(CLI::App* command);
  void addFiles(CLI::App* command);
  void addPlan();
  void addCordon();
  void addDoctor();
  void addAgentHelper();
  void addMigrate();
  void addControl();
  void addSize();
  void addConsole();
  void addService();
  void addAgent();
  void addScheduler();
  void addQueues();
  void addClusters();
  void addHub();
  void addSimulation(CLI::App* command, const std::string& seeds);
  void addSimulate();
  void addDefrag(CLI::App* simulate);
  void addReplay(CLI::App* simulate);

 public:
  std::vector<CLI::Option*> sims;
  std::vector<CLI::Option*> waits;
};

}  // namespace divvy::cli
