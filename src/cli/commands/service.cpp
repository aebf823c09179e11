// `divvy agent`, `divvy version`, `divvy sim` and the hidden probes.
#include <unistd.h>

#include <cstdio>

#include "agent/agent.h"
#include "agent/exec_helper.h"
#include "commands/commands.h"
#include "config/resource_name_options.h"
#include "driver/checkpoint_calls.h"
#include "driver/context_probe.h"
#include "driver/timeslice_probe.h"
#include "kubernetes/kube_api.h"
#include "options/version.h"
#include "simgpu/catalog.h"
#include "view/json_text.h"
#include "view/table.h"
#include "view/terminal.h"

namespace divvy::cli {
namespace {

void simJson() {
  std::string out = "{\n  \"profiles\": [";
  const char* separator = "\n";
  for (const simgpu::ProfileEntry& entry : simgpu::profileCatalog()) {
    out += separator + std::string("    {\"name\": ") + jsonQuoted(entry.name) +
           ", \"model\": " + jsonQuoted(entry.model) +
           ", \"memory\": " + std::to_string(entry.memory_bytes) +
           ", \"usable\": " + std::to_string(entry.usable_bytes) +
           ", \"context\": " + std::to_string(entry.context_bytes) +
           ", \"note\": " + jsonQuoted(entry.note) + "}";
    separator = ",\n";
  }
  out += "\n  ],\n  \"faults\": [";
  separator = "\n";
  for (const simgpu::FaultEntry& entry : simgpu::faultCatalog()) {
    out += separator + std::string("    {\"form\": ") + jsonQuoted(entry.form) +
           ", \"effect\": " + jsonQuoted(entry.effect) + "}";
    separator = ",\n";
  }
  out += "\n  ],\n  \"kernels\": [";
  separator = "\n";
  for (const simgpu::KernelEntry& entry : simgpu::kernelCatalog()) {
    out += separator + std::string("    {\"name\": ") + jsonQuoted(entry.name) +
           ", \"params\": " + jsonQuoted(entry.params) +
           ", \"effect\": " + jsonQuoted(entry.effect) + "}";
    separator = ",\n";
  }
  std::printf("%s\n  ]\n}\n", out.c_str());
}

void simText(const Output& output) {
  std::puts(
      R"(Simulated cards replace real ones: a CUDA driver and an NVML of our own, several
processes sharing one card with exact memory, streams, events and time-slicing. No GPU is needed.

  divvy run --sim h100 --memory 4Gi -- ./program    a share of a simulated card
  divvy run --sim 4090x2 --gpus 2 -- ./program      two cards: any profile takes xN, up to 16
  SIMGPU_PROFILE=h100 LD_LIBRARY_PATH=<prefix>/simgpu ./program     without Divvy

Programs reach it through the driver API (libcuda.so.1); the CUDA runtime library verifies the
driver it loads and does not run on a simulated one.

Profiles (--sim, SIMGPU_PROFILE, DIVVY_SIM for the default):)");
  Table profiles({"  NAME", "MEMORY>", "CONTEXT>", "SMS>", "MODEL", "NOTE"});
  for (const simgpu::ProfileEntry& entry : simgpu::profileCatalog()) {
    profiles.add({"  " + std::string(entry.name), sizeWord(entry.memory_bytes),
                  sizeWord(entry.context_bytes), std::to_string(entry.sm_count),
                  std::string(entry.model), std::string(entry.note)});
  }
  std::fputs(profiles.text(output.headers, outputWidth()).c_str(), stdout);
  std::puts("\nFault injections (SIMGPU_FAULTS, comma-separated, per process):");
  Table faults({"  FORM", "EFFECT"});
  for (const simgpu::FaultEntry& entry : simgpu::faultCatalog()) {
    faults.add({"  " + std::string(entry.form), std::string(entry.effect)});
  }
  std::fputs(faults.text(output.headers, outputWidth()).c_str(), stdout);
  std::puts("\nBuilt-in kernels (load the text \"simgpu-builtin 1\\nall\\n\" as a module):");
  Table kernels({"  KERNEL", "EFFECT"});
  for (const simgpu::KernelEntry& entry : simgpu::kernelCatalog()) {
    kernels.add({"  " + std::string(entry.name) + "(" + std::string(entry.params) + ")",
                 std::string(entry.effect)});
  }
  std::fputs(kernels.text(output.headers, outputWidth()).c_str(), stdout);
}

}  // namespace

int serveAgent(const AgentOptions& options) {
  std::optional<agent::ClusterNode> cluster = options.cluster;
  if (cluster) {
    Result<kube::Access> access = accessFor(options.kubeconfig, options.context);
    if (!access) return fail(access.error());
    cluster->access = std::move(*access);
    if (const Result<void> named = addNames(options, &*cluster); !named) return fail(named.error());
  }
  const Result<void> served =
      agent::serve({options.node, options.idle_ms, options.to_log_file, options.ready_fd,
                    options.memory, options.idle, options.bypass, options.placing,
                    std::move(cluster), options.metrics, options.excluded, options.notices});
  return served ? 0 : fail(served.error());
}

int serveAgentHelper(const AgentHelperOptions& options) {
  return fail(agent::becomeHelper(options.helper));
}

namespace {

// Prints "held", "failed" or "unknown", then the reason.
int probeSlices(const ProbeOptions& options) {
  const Result<driver::TimesliceProbe> trial = driver::probeTimeslice(options.cuda, options.uuid);
  const bool settled = trial || trial.error().code() == ErrorCode::kUnsupported;
  const bool held = trial && trial->holds();
  const std::string why = trial ? trial->text() : trial.error().message();
  std::printf("%s %s\n", held ? "held" : settled ? "failed" : "unknown", why.c_str());
  return held ? 0 : 1;
}

}  // namespace

int probe(const ProbeOptions& options) {
  if (options.kind == Probe::kTimeslice) return probeSlices(options);
  if (options.kind == Probe::kCheckpoint)
    return driver::serveCheckpoints(options.cuda, STDIN_FILENO, STDOUT_FILENO);
  const Result<Bytes> bytes = driver::probeContext(options.cuda, options.nvml, options.uuid);
  if (!bytes) {
    std::printf("%s\n", bytes.error().message().c_str());
    return 1;
  }
  std::printf("%llu\n", static_cast<unsigned long long>(bytes->count));
  return 0;
}

int sim(const SimOptions& options) {
  options.output.json ? simJson() : simText(options.output);
  return 0;
}

int version(const VersionOptions& options) {
  const std::string text = options.output.json ? versionJson() : versionLine() + "\n";
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace divvy::cli
