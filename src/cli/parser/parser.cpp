// The only users of CLI11, which is slow to compile, are this, define_simulate, usage and
// completion: the command line's grammar and its help.
#include <algorithm>

#include "options/kubectl_options.h"
#include "options/version.h"
#include "parser/completion.h"
#include "parser/define.h"
#include "parser/usage.h"
#include "public_names/public_names.h"

namespace divvy::cli {

Grammar::Grammar(bool plugin)
    : app("Share GPUs between processes: memory and compute limits that hold.",
          plugin ? "kubectl divvy" : "divvy") {
  raw.plugin = plugin;
  app.require_subcommand(1);
  app.footer(examplesOf(""));
  app.set_version_flag("--version", versionLine());
  addRun();
  addExplain();
  addViews();
  addPlan();
  addCordon();
  addSnapshot();
  addDoctor();
  addControl();
  addShare();
  addSize();
  addConsole();
  addService();
  addScheduler();
  addQueues();
  addClusters();
  addHub();
  addMigrate();
  addSimulate();
}

void Grammar::addCompute(CLI::App* command, bool defaults) {
  addTerm(command, "cores", raw.cores, defaults);
  addTerm(command, "cores-policy", raw.policy, defaults);
  addTerm(command, "priority", raw.priority, defaults);
}

// What matters where more memory is promised than there is.
void Grammar::addPressure(CLI::App* command, bool defaults) {
  addTerm(command, "on-pressure", raw.on_pressure, defaults);
  addTerm(command, "pressure-wait", raw.pressure_wait, defaults);
}

void Grammar::addIdle(CLI::App* command, bool defaults) {
  addTerm(command, "idle-reclaim", raw.idle_reclaim, defaults);
  addTerm(command, "idle-stop", raw.idle_stop, defaults);
}

void Grammar::addMemory(CLI::App* command) {
  addTerm(command, "memory", raw.memory);
  addTerm(command, "guaranteed", raw.guaranteed);
}

// Where, and who sees to it.
void Grammar::addPlace(CLI::App* command) {
  addTerm(command, "gpus", raw.gpus);
  addTerm(command, "model", raw.models)->expected(1)->take_all()->allow_extra_args(false);
  addTerm(command, "uuid", raw.uuids)->expected(1)->take_all()->allow_extra_args(false);
  addTerm(command, "pool", raw.pool);
  addTerm(command, "device-policy", raw.device_policy);
  addTerm(command, "expected-use", raw.expected_use);
  addTerm(command, "enforce", raw.enforce);
  addTerm(command, "context-overhead", raw.overhead);
  sims.push_back(addTerm(command, "sim", raw.sim)->expected(0, 1));
}

void Grammar::addRun() {
  CLI::App* run = add("run", "Run a command with a share of a GPU", makeRun);
  run->prefix_command();
  addMemory(run);
  addPressure(run, true);
  addIdle(run, true);
  addCompute(run, true);
  addPlace(run);
  addTerm(run, "name", raw.name);
  // For help and completion: what stands behind them is not ours to read, see splitCommand.
  for (const char* runtime : {"podman", "docker"}) {
    const std::string text = share_options::helpOf(*share_options::ofOption(runtime), true);
    run->add_flag("--" + std::string(runtime), text);
  }
  waits.push_back(addTerm(run, "wait", raw.wait)->expected(0, 1));
}

void Grammar::addExplain() {
  CLI::App* explain = add(
      "explain", "Explain whether and where a run, or a pod, fits now, and what would fit instead",
      makeExplain);
  explain
      ->add_option("WHAT", raw.cluster.words,
                   "pod NAMESPACE/NAME: pod of a cluster; reason [CODE|WORDS]: its meaning [a run]")
      ->type_name("")
      ->expected(1, -1);
  addMemory(explain);
  addCompute(explain, true);
  addPlace(explain);
  addFiles(explain);
  addCluster(explain, Namespaces::kOwn);
  addMinRuntime(explain);
  addOutput(explain, true);
}

void Grammar::addViews() {
  CLI::App* ls = add("ls", "List tenants and their shares",
                     [](const RawOptions& r) { return makeList(ListOptions::What::kTenants, r); });
  CLI::App* gpus =
      add("gpus", "List devices: physical, allocated and used memory",
          [](const RawOptions& r) { return makeList(ListOptions::What::kDevices, r); });
  CLI::App* top = add("top", "Watch devices and tenants live", makeTop);
  CLI::App* events = add("events", "List events of tenants, with reasons", makeEvents);
  events->add_option("TENANT", raw.tenant, "id or name [all]");
  events->add_flag("-f,--follow", raw.follow, "follow new events");
  for (CLI::App* command : {ls, gpus, top, events}) {
    addOutput(command, command == ls);
    addSim(command, "only this simulated node");
  }
  for (CLI::App* command : {ls, gpus}) {
    addSwitch(command, "list a cluster instead of this machine");
    command->add_option("--node", raw.cluster.node, "only this one of the cluster [all]")
        ->type_name("NAME");
    addReach(command, command == ls ? Namespaces::kOwn : Namespaces::kIdle);
    command
        ->add_option("--pools", raw.pools,
                     "pools of devices, as the cluster's scheduler has it [none]")
        ->type_name("FILE");
  }
  ls->add_option(
        "-n,--namespace", raw.cluster.namespace_name,
        raw.plugin ? "only this namespace [the context's]" : "only this one of the cluster [all]")
      ->type_name("NAME");
  ls->add_flag("-A,--all-namespaces", raw.cluster.all_namespaces, "all namespaces of the cluster");
  top->add_option("-n", raw.frames, "exit after this many frames")->type_name("COUNT");
  top->add_option("--interval", raw.interval, "time between frames, 100ms or more [1s]")
      ->type_name("TIME");
  top->add_flag("--no-color", raw.no_color, "no colours (as NO_COLOR in the environment)");
}

void Grammar::addSnapshot() {
  CLI::App* snapshot =
      add("snapshot", "Write the state and the decisions of placement as JSON", makeSnapshot);
  snapshot->add_option("-o,--output", raw.output, "file to write; - is stdout [-]")
      ->type_name("FILE");
  snapshot->add_flag("--redact", raw.redact, "replace names of tenants and nodes by numbers");
  addSim(snapshot, "snapshot of this simulated node");
  addSwitch(snapshot, "snapshot of a cluster instead of an agent");
  addCluster(snapshot);
  snapshot
      ->add_option("--device-policy", raw.device_policy,
                   "device policy, as the cluster's scheduler has it")
      ->type_name("WORDS");
}

void Grammar::addControl() {
  CLI::App* resize = add("resize", "Resize a running share", makeSet);
  resize->add_option("TENANT", raw.tenant, "id or name; pod/NAME, pod/NAMESPACE/NAME of a cluster")
      ->required();
  resize->add_option("--memory", raw.memory, "new limit per device: 6Gi, 50% of the device")
      ->type_name("SIZE");
  addTerm(resize, "guaranteed", raw.guaranteed, false);
  addPressure(resize, false);
  addIdle(resize, false);
  addCompute(resize, false);
  resize->add_option("--name", raw.name, "new name")->type_name("NAME");
  resize
      ->add_option("-c,--container", raw.cluster.container,
                   "container of the pod [the one with devices]")
      ->type_name("NAME");
  resize
      ->add_option("-n,--namespace", raw.cluster.namespace_name,
                   "namespace of the pod [the kubeconfig's]")
      ->type_name("NAME");
  addConnection(resize, Namespaces::kOwn);
  resize->add_option("--timeout", raw.timeout, "maximum wait until the pod is resized [75s]")
      ->type_name("TIME");
  resize->add_flag("--no-wait", raw.no_wait, "request the pod's resize, do not wait for it");
  resize->add_option("-o,--output", raw.output, "output format for a pod: text or json [text]")
      ->type_name("FORMAT");
  CLI::App* wait = add("wait", "Wait until a tenant has ended", makeWait);
  wait->add_option("TENANT", raw.tenant, "id or name");
  wait->add_flag("--all", raw.all, "wait until all tenants have ended");
  wait->add_option("--timeout", raw.timeout, "give up after this long (exit status 1)")
      ->type_name("TIME");
  CLI::App* stop = add("stop", "Stop the agent", makeStop);
  stop->add_flag("--force", raw.force, "end the tenants' processes first");
  for (CLI::App* command : {resize, wait, stop}) addSim(command, "only this simulated node");
}

void Grammar::addSize() {
  CLI::App* size = add("size", "Size a share for serving a language model", makeSize);
  SizeText& text = raw.size;
  const auto option = [size](const char* name, std::string& target, const char* what,
                             const char* type) {
    size->add_option(name, target, what)->type_name(type);
  };
  option("--model", text.model, "model name (--list), or its config.json", "NAME|FILE");
  option("--context", text.context, "maximum tokens of a sequence [8k]", "TOKENS");
  option("--concurrency", text.concurrency, "sequences at once [1]", "N");
  option("--avg-len", text.average, "tokens of a sequence on average [--context]", "TOKENS");
  option("--dtype", text.dtype, "format of the weights [the checkpoint's]",
         "bf16|fp16|fp32|fp8|int8|int4|awq|gptq|mxfp4|nvfp4|bnb4|q4_0|q4_k|q4_k_m|q5_k|q6_k|q8_0");
  option("--kv-dtype", text.kv_dtype, "format of the KV cache [auto]",
         "auto|bfloat16|float16|fp8|fp8_ds_mla|int8_per_token_head|fp8_per_token_head|nvfp4");
  option("--gpu", text.gpu, "device model, or memory on one: 4090, 24Gi", "MODEL|SIZE");
  option("--gpus", raw.gpus, "number of devices to divide it over [as many as needed of --gpu]",
         "N");
  option("--engine", text.engine, "serving engine [vllm]", "vllm|sglang");
  option("--utilization", text.utilization,
         "part of the visible memory that the engine fills [0.92]", "FRACTION|off");
  option("--max-num-batched-tokens", text.batched_tokens, "tokens of a step [2048]", "N");
  option("--max-num-seqs", text.max_sequences, "sequences of a step [--concurrency]", "N");
  size->add_flag("--eager", text.eager, "without CUDA graphs");
  size->add_flag("--list", text.list, "list the known models");
  size->add_flag("--manifest", text.manifest, "a Deployment with HAMi's resource names (-o yaml)");
  size->add_option("-o,--output", raw.output, "output format [table]")
      ->type_name("table|json|yaml");
  size->add_flag("--no-headers", raw.no_headers, "omit the header line");
}

void Grammar::addService() {
  CLI::App* sim = add("sim", "Describe simulated cards, list profiles and fault injections",
                      [](const RawOptions& r) { return makeOutput(false, r); });
  CLI::App* version = add("version", "Print the version and the commit of the build",
                          [](const RawOptions& r) { return makeOutput(true, r); });
  for (CLI::App* command : {sim, version}) addOutput(command);
  addAgent();
  addAgentHelper();
  CLI::App* completion = add("completion", "Print a completion script", [](const RawOptions& r) {
    return completionScript(Grammar(false).app, r.shell);
  });
  completion->add_option("SHELL", raw.shell, "shell of the script")
      ->required()
      ->type_name("bash|zsh|fish");
  for (const auto& [name, kind] : {std::pair("probe-context", Probe::kContext),
                                   std::pair("probe-timeslice", Probe::kTimeslice),
                                   std::pair("probe-checkpoint", Probe::kCheckpoint)}) {
    CLI::App* probe = add(name, "", [kind = kind](const RawOptions& r) {
      return Result<Options>(Options{ProbeOptions{kind, r.cuda, r.nvml, r.uuid}});
    });
    probe->group("");
    probe->add_option("--cuda", raw.cuda)->required();
    probe->add_option("--nvml", raw.nvml)->required(kind == Probe::kContext);
    probe->add_option("--uuid", raw.uuid)->required(kind != Probe::kCheckpoint);
  }
}

namespace {

// CLI11 does not know of the command behind the options.
std::string helpOf(const CLI::App& command, const std::string& program) {
  const CLI::App* parent = command.get_parent();
  const bool nested = parent != nullptr && parent->get_parent() != nullptr;
  std::string text =
      command.help(nested ? program + " " + parent->get_name() : std::string(program));
  const std::string usage = "Usage: " + program + " run [OPTIONS]";
  const std::size_t at = text.find(usage);
  if (at != std::string::npos)
    text.insert(at + usage.size(),
                " -- COMMAND [ARGUMENTS]\n"
                "       divvy run [OPTIONS] --podman|--docker [ITS OPTIONS] IMAGE [COMMAND]");
  return text;
}

// The name of a command of the release before is accepted; help and completion do not show it.
void renameCommand(std::vector<std::string>* words) {
  const auto first = std::find_if(words->begin(), words->end(),
                                  [](const std::string& word) { return !word.starts_with('-'); });
  if (first == words->end()) return;
  const std::string program = "divvy ";
  const std::string_view present =
      public_names::presentName(public_names::NameKind::kCommand, program + *first);
  if (!present.empty()) *first = present.substr(program.size());
}

struct SplitCommand {
  std::string runtime;  // empty: none
  std::vector<std::string> command;
};

// What follows "--" belongs to the command, whatever it looks like; and what follows --podman or
// --docker to these. `runtimes`: look for them.
SplitCommand splitCommand(std::vector<std::string>& words, bool runtimes) {
  SplitCommand split;
  const auto ends = [&](const std::string& word) {
    return word == "--" || (runtimes && (word == "--podman" || word == "--docker"));
  };
  const auto end = std::find_if(words.begin(), words.end(), ends);
  if (words.empty() || words[0] != "run" || end == words.end()) return split;
  if (*end != "--") split.runtime = end->substr(2);
  split.command.assign(end + 1, words.end());
  words.erase(end, words.end());
  return split;
}

}  // namespace

namespace {

Result<Options> parseWords(const std::vector<std::string>& all, bool plugin, bool runtimes) {
  Grammar grammar(plugin);
  std::vector<std::string> words = plugin ? asKubectl(all) : all;
  renameCommand(&words);
  SplitCommand split = splitCommand(words, runtimes);
  grammar.raw.command = std::move(split.command);
  grammar.raw.runtime = split.runtime;
  const bool dashed = !grammar.raw.command.empty() || !split.runtime.empty();
  const std::string unknown = unknownCommand(grammar.app, words);
  if (!unknown.empty()) return usageError(grammar.app, unknown);
  try {
    std::reverse(words.begin(), words.end());
    grammar.app.parse(words);
  } catch (const CLI::CallForHelp&) {
    const CLI::App* chosen = innermost(grammar.app);
    return Options{PrintOptions{chosen == &grammar.app ? grammar.app.help()
                                                       : helpOf(*chosen, grammar.program())}};
  } catch (const CLI::CallForVersion&) {
    return Options{PrintOptions{versionLine() + "\n"}};
  } catch (const CLI::ExtrasError&) {
    return usageError(grammar.app, unexpectedWords(*innermost(grammar.app), plugin));
  } catch (const CLI::ParseError& error) {
    return usageError(grammar.app, wrongValue(*innermost(grammar.app), error));
  }
  const CLI::App* chosen = innermost(grammar.app);
  const std::vector<std::string> rest = chosen->remaining();
  // The command came first: the word is one of its own.
  if (!rest.empty() && !split.runtime.empty()) return parseWords(all, plugin, false);
  if (!rest.empty() && (dashed || chosen->get_name() != "run")) {
    return usageError(grammar.app, "\"" + rest[0] + "\" is not accepted here");
  }
  if (!dashed) grammar.raw.command = rest;
  const std::string empty = emptyOption(*chosen);
  if (!empty.empty()) return usageError(grammar.app, empty + " has no value");
  for (const CLI::Option* option : grammar.sims)
    grammar.raw.sim_given = grammar.raw.sim_given || option->count() != 0;
  for (const CLI::Option* option : grammar.waits)
    grammar.raw.wait_given = grammar.raw.wait_given || option->count() != 0;
  return grammar.makers.at(chosen)(grammar.raw);
}

}  // namespace

Result<Options> parseOptions(int argc, char** argv) {
  const std::string_view program = argc > 0 ? argv[0] : "";
  const std::string_view name = program.substr(program.rfind('/') + 1);
  const std::vector<std::string> words(argv + 1, argv + argc);
  // kubectl has its plugins' words completed by programs of such names.
  if (name == "kubectl_complete-divvy") {
    std::vector<std::string> asked = asKubectl(words);
    renameCommand(&asked);
    return completionFor(Grammar(true).app, asked);
  }
  return parseWords(words, name == "kubectl-divvy", true);
}

}  // namespace divvy::cli
