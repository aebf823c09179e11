// Checks of the container runtime, NVIDIA's part of it, and the GPU Operator.
#include <algorithm>

#include "checks/check_lists.h"
#include "report/format.h"

namespace divvy::doctor {
namespace {

// Earlier versions let an image take over the node (CVE-2024-0132, CVE-2025-23359, -23266).
constexpr const char* kSafeToolkit = "1.17.8";

bool isNvidia(const std::string& text) {
  return text.find("nvidia") != std::string::npos;
}

std::string noneText(const RuntimeFacts& runtime) {
  return runtime.sockets.empty()
             ? "no container runtime found"
             : "no configuration of containerd; found: " + joined(runtime.sockets);
}

void checkRuntime(const NodeFacts& facts, FindingBuilder& sink) {
  const RuntimeFacts& runtime = facts.runtime;
  if (runtime.configs.empty() && runtime.sockets.empty()) return sink.skip(noneText(runtime));
  for (const RuntimeConfig& one : runtime.configs) {
    if (!one.fault) {
      sink.ok(one.flavour + ", configuration of form " + std::to_string(one.version), one.path);
    } else if (one.fault->code() == ErrorCode::kIo) {
      sink.skip(one.fault->message(), one.path);
    } else {
      sink.fault(
          {one.fault->message(), "the runtime does not start with it, or ignores it",
           one.flavour == "containerd" ? "correct it, then: systemctl restart containerd"
                                       : "correct its template: the file is generated from it"},
          one.path);
    }
  }
  if (!sink.hasFindings()) sink.ok("with its defaults: " + joined(runtime.sockets));
}

// containerd before 1.7 has no CDI and ignores requests for it silently.
bool cdiOf(const RuntimeConfig& config) {
  return config.cdi.value_or(config.version >= 3);
}

void checkCdi(const NodeFacts& facts, FindingBuilder& sink) {
  const RuntimeFacts& runtime = facts.runtime;
  if (runtime.configs.empty()) return sink.skip(noneText(runtime));
  for (const RuntimeConfig& one : runtime.configs) {
    if (one.fault) continue;
    if (cdiOf(one)) {
      sink.ok(one.cdi ? "it is on" : "it is on by default", one.path);
    } else if (runtime.cdi_specs.empty()) {
      sink.ok("it is off, and no CDI files are written here", one.path);
    } else {
      sink.warn({"it is off, and " + joined(runtime.cdi_specs) + " exists",
                 "containers that request a device by its CDI name get none, without an error",
                 "enable_cdi = true in the CRI plugin's section (containerd 1.7), or containerd 2"},
                one.path);
    }
  }
  if (!sink.hasFindings()) sink.skip("no configuration could be read");
}

void checkNvidia(const NodeFacts& facts, FindingBuilder& sink) {
  const RuntimeFacts& runtime = facts.runtime;
  if (runtime.configs.empty()) return sink.skip(noneText(runtime));
  const bool cards = facts.driver.version.has_value() || !facts.driver.cards.empty();
  for (const RuntimeConfig& one : runtime.configs) {
    if (one.fault) continue;
    const bool by_default = isNvidia(one.default_runtime);
    const bool known = std::any_of(one.runtimes.begin(), one.runtimes.end(), isNvidia) ||
                       std::any_of(one.binaries.begin(), one.binaries.end(), isNvidia);
    if (by_default) {
      sink.ok("\"" + one.default_runtime + "\" is the default runtime", one.path);
    } else if (known) {
      sink.ok(
          "runtime \"nvidia\" exists and is not the default: pods name its RuntimeClass, and the "
          "chart sets agent.runtimeClassName=nvidia",
          one.path);
    } else if (!cards) {
      sink.ok("none, and no GPU", one.path);
    } else {
      sink.warn({"no NVIDIA runtime among " +
                     (one.runtimes.empty() ? std::string("the defaults") : joined(one.runtimes)),
                 "containers get no driver: the agent waits for it, and registers no devices",
                 one.flavour == "containerd"
                     ? "nvidia-ctk runtime configure --runtime=containerd, then restart containerd"
                     : "install nvidia-container-toolkit and restart " + one.flavour +
                           ": it detects the toolkit at its start"},
                one.path);
    }
  }
  if (!sink.hasFindings()) sink.skip("no configuration could be read");
}

void checkVisible(const NodeFacts& facts, FindingBuilder& sink) {
  const RuntimeFacts& runtime = facts.runtime;
  if (runtime.toolkit_path.empty()) return sink.skip("no configuration of NVIDIA's toolkit found");
  if (!runtime.toolkit) {
    const Error& why = runtime.toolkit.error();
    if (why.code() == ErrorCode::kIo) return sink.skip(why.message(), runtime.toolkit_path);
    return sink.fault({why.message(), "NVIDIA's runtime refuses to start containers with it",
                       "correct it, or reinstall nvidia-container-toolkit"},
                      runtime.toolkit_path);
  }
  if (!runtime.toolkit_by_variable.value_or(true)) {
    if (!facts.kubelet.there)
      return sink.ok("NVIDIA_VISIBLE_DEVICES applies to privileged containers only",
                     runtime.toolkit_path);
    return sink.warn({"accept-nvidia-visible-devices-envvar-when-unprivileged = false",
                      "Divvy's agent and containers with shares get the driver by that variable, "
                      "unprivileged: they get none",
                      "set it to true, and restrict the use of NVIDIA's runtime by a policy"},
                     runtime.toolkit_path);
  }
  const bool by_default =
      std::any_of(runtime.configs.begin(), runtime.configs.end(),
                  [](const RuntimeConfig& one) { return isNvidia(one.default_runtime); });
  const std::string seen =
      runtime.toolkit_by_variable
          ? "accept-nvidia-visible-devices-envvar-when-unprivileged = true"
          : "accept-nvidia-visible-devices-envvar-when-unprivileged is not set, which means true";
  if (!by_default && !facts.kubelet.there) return sink.ok(seen, runtime.toolkit_path);
  if (!by_default)
    return sink.ok(seen + "; NVIDIA's runtime is not the default: only pods that name it",
                   runtime.toolkit_path);
  sink.warn({seen + ", and NVIDIA's runtime is the default",
             "a pod without requests gets all GPUs by NVIDIA_VISIBLE_DEVICES=all, also set by its "
             "image: outside every limit",
             "make runc the default, set agent.runtimeClassName=nvidia, and restrict that "
             "RuntimeClass by a policy"},
            runtime.toolkit_path);
}

void checkToolkit(const NodeFacts& facts, FindingBuilder& sink) {
  const std::string& version = facts.runtime.toolkit_version;
  if (version.empty()) return sink.skip("no Debian package nvidia-container-toolkit found");
  if (compareVersions(version, kSafeToolkit) >= 0) return sink.ok(version);
  sink.warn({version + ", older than " + kSafeToolkit,
             "an image can take over the node (CVE-2024-0132, CVE-2025-23359, CVE-2025-23266), "
             "with or without Divvy",
             "apt-get install nvidia-container-toolkit"});
}

void checkOperator(const NodeFacts& facts, FindingBuilder& sink) {
  const OperatorFacts& gpu = facts.gpu_operator;
  if (!gpu.driver_root && !gpu.validations && !gpu.toolkit_dir) return sink.ok("not found");
  const auto ready = [&](const char* name) {
    return std::find(gpu.ready.begin(), gpu.ready.end(), name) != gpu.ready.end();
  };
  if (gpu.validations && !ready("driver-ready"))
    sink.warn({"/run/nvidia/validations has no driver-ready",
               "the operator has not finished, or failed, on this node",
               "kubectl -n gpu-operator get pods -o wide"});
  if (ready("plugin-ready"))
    sink.warn(
        {"/run/nvidia/validations/plugin-ready: the operator's device plugin was here",
         "if it still runs, it takes nvidia.com/gpu from Divvy at the next restart of the node",
         "ClusterPolicy: devicePlugin.enabled=false, or agent.resource=divvy.dev/gpu"});
  if (sink.hasFindings()) return;
  std::vector<std::string> traces;
  if (gpu.driver_root) traces.push_back("/run/nvidia/driver");
  if (gpu.toolkit_dir) traces.push_back("/usr/local/nvidia/toolkit");
  if (gpu.validations) traces.push_back(joined(gpu.ready));
  sink.ok(joined(traces));
}

}  // namespace

NodeEntries runtimeChecks() {
  return {{"container-runtime", "can the container runtime's configuration be read", checkRuntime},
          {"runtime-cdi", "does the runtime support CDI if CDI files are written", checkCdi},
          {"nvidia-runtime", "is NVIDIA's runtime configured, so that containers get the driver",
           checkNvidia},
          {"visible-devices", "can pods without requests get all GPUs", checkVisible},
          {"toolkit-version", "is NVIDIA's container toolkit a safe version", checkToolkit},
          {"gpu-operator", "does NVIDIA's GPU Operator leave the devices to Divvy", checkOperator}};
}

}  // namespace divvy::doctor
