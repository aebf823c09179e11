#include "config/migrate_values.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace divvy::cli {
namespace {

enum class MigrationAction {
  kSame,    // the value, or everything below, under our name
  kUnless,  // the same, unless it is the default of HAMi's chart, which is HAMi's own
  kMoot,    // it is not needed; the reason
  kByHand,  // the user has to decide; the question
};

// Source: facts on the incumbent's control plane, 4.4. "x." means everything below x.
struct MigrationRule {
  std::string_view theirs;
  MigrationAction action;
  std::string_view ours;  // a path, or several separated by blanks; or words
  std::string_view usual = "";
};

constexpr std::string_view kRenamed =
    "resources under other names: give HAMi's device-config.yaml as scheduler.deviceConfig, and "
    "`divvy scheduler --print config|webhook|policies|fencing --device-config` as generated.*";
constexpr std::string_view kByDeviceConfig =
    "scheduler.deviceConfig: HAMi's device-config.yaml is read as it is";
constexpr std::string_view kOwnCertificate = "Divvy creates the webhook's certificate";
constexpr std::string_view kNoNodePorts = "Divvy opens no node port";
constexpr std::string_view kDead = "HAMi does not read it either";

// A number in HAMi's values, a text in ours: "1.5", or "150%".
constexpr std::string_view kOvercommit = "agent.overcommit";

// Names in one of HAMi's two lists; maps with a name in ours.
constexpr std::string_view kPullSecrets = "imagePullSecrets";

constexpr MigrationRule kRules[] = {
    {"devicePlugin.deviceSplitCount", MigrationAction::kSame, "agent.perDevice"},
    {"devicePlugin.deviceMemoryScaling", MigrationAction::kUnless, kOvercommit, "1"},
    {"devicePlugin.runtimeClassName", MigrationAction::kUnless, "agent.runtimeClassName"},
    {"devicePlugin.tolerations", MigrationAction::kSame, "agent.tolerations"},
    {"devicePlugin.podAnnotations.", MigrationAction::kSame, "agent.podAnnotations"},
    {"devicePlugin.nvidiaNodeSelector.gpu", MigrationAction::kMoot, "nodes need no label"},
    {"devicePlugin.nvidiaNodeSelector.", MigrationAction::kSame, "agent.nodeSelector"},
    {"devicePlugin.updateStrategy.", MigrationAction::kSame, "agent.updateStrategy"},
    {"devicePlugin.nodeConfiguration.config", MigrationAction::kSame, "agent.nodeSettings"},
    {"devicePlugin.nodeConfiguration.externalConfigName", MigrationAction::kByHand,
     "agent.nodeSettings: that ConfigMap's config.json is read as it is"},
    {"devicePlugin.deviceCoreScaling", MigrationAction::kMoot,
     "compute is a part of the device's and cannot be overcommitted"},
    {"devicePlugin.disablecorelimit", MigrationAction::kMoot, kDead},
    {"devicePlugin.migStrategy", MigrationAction::kByHand,
     "existing instances are used as they are, docs/guides/mig.md"},
    {"devicePlugin.enableNumaTopology", MigrationAction::kByHand,
     "use.divvy.dev/device-policy: numa-strict"},
    {"devicePlugin.createRuntimeClass", MigrationAction::kByHand,
     "create the RuntimeClass yourself"},
    {"devicePlugin.passDeviceSpecsEnabled", MigrationAction::kMoot,
     "the container runtime passes devices"},
    {"devicePlugin.deviceListStrategy", MigrationAction::kMoot,
     "plain mounts work with every runtime"},
    {"devicePlugin.nvidiaDriverRoot", MigrationAction::kMoot,
     "the driver is found through the loader's search path"},
    {"devicePlugin.gpuOperatorToolkitReady.", MigrationAction::kMoot, "agents wait for the driver"},
    {"devicePlugin.service.", MigrationAction::kMoot, kNoNodePorts},
    {"devicePlugin.pluginPath", MigrationAction::kByHand, "agent.kubeletDir: its parent directory",
     "/var/lib/kubelet/device-plugins"},
    {"devicePlugin.libPath", MigrationAction::kMoot, "Divvy uses agent.installDir"},
    {"devicePlugin.monitor.", MigrationAction::kMoot, "the agent includes the monitor"},
    {"resourceName", MigrationAction::kUnless, "agent.resource", "nvidia.com/gpu"},
    {"resourceMem", MigrationAction::kByHand, kRenamed, "nvidia.com/gpumem"},
    {"resourceMemPercentage", MigrationAction::kByHand, kRenamed, "nvidia.com/gpumem-percentage"},
    {"resourceCores", MigrationAction::kByHand, kRenamed, "nvidia.com/gpucores"},
    {"resourcePriority", MigrationAction::kByHand, kRenamed, "nvidia.com/priority"},
    {"schedulerName", MigrationAction::kByHand,
     "pods that set it have to set divvy-scheduler; the webhook sets it for others",
     "hami-scheduler"},
    {"scheduler.replicas", MigrationAction::kUnless, "scheduler.replicas", "1"},
    {"scheduler.leaderElect", MigrationAction::kMoot, "replicas always elect a leader"},
    {"scheduler.defaultSchedulerPolicy.nodeSchedulerPolicy", MigrationAction::kSame,
     "scheduler.nodePolicy"},
    {"scheduler.defaultSchedulerPolicy.gpuSchedulerPolicy", MigrationAction::kSame,
     "scheduler.devicePolicy"},
    {"scheduler.forceOverwriteDefaultScheduler", MigrationAction::kMoot,
     "only pods with devices are assigned to Divvy"},
    {"scheduler.nodeLockExpire", MigrationAction::kMoot,
     "only nodes of other vendors' agents are locked"},
    {"scheduler.nodeLabelSelector.", MigrationAction::kByHand, "pools select nodes for namespaces"},
    {"scheduler.overwriteEnv", MigrationAction::kByHand, kByDeviceConfig, "false"},
    {"scheduler.kubeScheduler.image.registry", MigrationAction::kSame,
     "kubeScheduler.image.registry"},
    {"scheduler.kubeScheduler.image.repository", MigrationAction::kSame,
     "kubeScheduler.image.repository"},
    {"scheduler.kubeScheduler.image.tag", MigrationAction::kUnless, "kubeScheduler.image.tag"},
    {"scheduler.kubeScheduler.imageTag", MigrationAction::kMoot,
     "the cluster's version is used; to change it: kubeScheduler.image.tag"},
    {"scheduler.kubeScheduler.resources.", MigrationAction::kSame, "kubeScheduler.resources"},
    {"scheduler.nodeSelector.", MigrationAction::kSame, "scheduler.nodeSelector"},
    {"scheduler.tolerations", MigrationAction::kSame, "scheduler.tolerations"},
    {"scheduler.podAnnotations.", MigrationAction::kSame, "scheduler.podAnnotations"},
    {"scheduler.admissionWebhook.failurePolicy", MigrationAction::kMoot,
     "it fails closed, for pods with devices only"},
    {"scheduler.admissionWebhook.customURL.", MigrationAction::kByHand, "webhook.url", "false"},
    {"scheduler.admissionWebhook.enabled", MigrationAction::kMoot, "pods with devices need it"},
    {"scheduler.admissionWebhook.whitelistNamespaces", MigrationAction::kByHand,
     "label those namespaces hami.io/webhook: ignore"},
    {"scheduler.admissionWebhook.", MigrationAction::kByHand,
     "scope of the webhook: generated.webhook"},
    {"scheduler.certManager.enabled", MigrationAction::kByHand,
     "webhook.secretName and annotations", "false"},
    {"scheduler.certManager.", MigrationAction::kMoot, kOwnCertificate},
    {"scheduler.patch.", MigrationAction::kMoot, kOwnCertificate},
    {"scheduler.service.", MigrationAction::kMoot, kNoNodePorts},
    {"imagePullSecrets", MigrationAction::kSame, kPullSecrets},
    {"global.imagePullSecrets", MigrationAction::kSame, kPullSecrets},
    {"global.imageRegistry", MigrationAction::kByHand,
     "image.registry: the registry with Divvy's image"},
    {"global.gpuHookPath", MigrationAction::kMoot, "Divvy uses agent.installDir"},
    {"global.managedNodeSelector", MigrationAction::kByHand, "agent.nodeSelector"},
    {"global.managedNodeSelectorEnable", MigrationAction::kByHand, "agent.nodeSelector", "false"},
    {"legacyMetrics", MigrationAction::kUnless, "scheduler.compatMetrics agent.metrics.compat",
     "false"},
    {"prometheus.enabled", MigrationAction::kSame, "monitoring.enabled"},
    {"device-config.content", MigrationAction::kSame, "scheduler.deviceConfig"},
    {"devices.", MigrationAction::kMoot,
     "all vendors are supported; scheduler.deviceConfig renames resources"},
    {"mockDevicePlugin.", MigrationAction::kMoot, "agent.node: sim-h100 simulates cards"},
};

// The longest rule that covers this path.
const MigrationRule* ruleOf(const std::string& path) {
  const MigrationRule* best = nullptr;
  for (const MigrationRule& rule : kRules) {
    const bool below = rule.theirs.back() == '.';
    const bool hit = below ? path.starts_with(rule.theirs) : path == rule.theirs;
    if (hit && (best == nullptr || best->theirs.size() < rule.theirs.size())) best = &rule;
  }
  return best;
}

class Migration {
 public:
  void convert(const YAML::Node& node, const std::string& path, int deep) {
    const MigrationRule* rule = path.empty() ? nullptr : ruleOf(path);
    // Below some of our names all keys are the users' own: the value is taken over as a whole.
    const bool whole =
        rule != nullptr && (rule->theirs.back() != '.' || rule->action == MigrationAction::kSame);
    if (!whole && node.IsMap() && node.size() > 0 && deep < kMaxDeep) {
      for (const auto& entry : node)
        convert(entry.second, (path.empty() ? "" : path + ".") + entry.first.Scalar(), deep + 1);
      return;
    }
    if (rule != nullptr) return apply(*rule, node, path);
    // An empty value sets nothing.
    if (node.IsNull() || ((node.IsMap() || node.IsSequence()) && node.size() == 0)) return;
    unknown_.push_back(path);
  }

  std::string text() const {
    std::string head = "# Converted from HAMi's values by `divvy migrate values`.\n";
    // HAMi always reports its new names, whatever legacyMetrics is.
    if (!compat_)
      head +=
          "# For dashboards with HAMi's metric names (hami_*): scheduler.compatMetrics and "
          "agent.metrics.compat: true\n";
    head += list("Decide by hand", by_hand_);
    head += list("Not needed", moot_);
    head += "# Unknown keys: " + std::to_string(unknown_.size()) + "\n";
    for (const std::string& path : unknown_) head += "#   " + path + "\n";
    if (values_.size() == 0) return head + "{}\n";
    YAML::Emitter out;
    emit(&out, values_);
    return head + out.c_str() + "\n";
  }

 private:
  static constexpr int kMaxDeep = 32;
  using PathReasons = std::vector<std::pair<std::string, std::string>>;

  static std::string list(const std::string& title, const PathReasons& reasons) {
    if (reasons.empty()) return "";
    std::string text = "# " + title + ": " + std::to_string(reasons.size()) + "\n";
    for (const auto& [path, why] : reasons) text += "#   " + path + ": " + why + "\n";
    return text;
  }

  // A quoted value stays a string, because the chart's schema distinguishes "true" from true.
  // yaml-cpp drops the quotes, and marks such a value with the tag "!".
  static void emit(YAML::Emitter* out, const YAML::Node& node) {
    if (node.IsMap()) {
      *out << YAML::BeginMap;
      for (const auto& entry : node) {
        *out << YAML::Key << entry.first.Scalar() << YAML::Value;
        emit(out, entry.second);
      }
      *out << YAML::EndMap;
    } else if (node.IsSequence()) {
      *out << YAML::BeginSeq;
      for (const auto& item : node) emit(out, item);
      *out << YAML::EndSeq;
    } else if (node.IsScalar() && node.Tag() == "!") {
      const bool lines = node.Scalar().find('\n') != std::string::npos;
      *out << (lines ? YAML::Literal : YAML::DoubleQuoted) << node.Scalar();
    } else {
      *out << node;
    }
  }

  void apply(const MigrationRule& rule, const YAML::Node& node, const std::string& path) {
    const bool usual = node.IsNull() || (node.IsScalar() && node.Scalar() == rule.usual);
    const std::string words(rule.ours);
    if (rule.action == MigrationAction::kMoot) return moot_.emplace_back(path, words), void();
    if (usual && rule.action != MigrationAction::kSame) return;
    if (rule.action == MigrationAction::kByHand) return by_hand_.emplace_back(path, words), void();
    if (node.IsNull()) return;
    if (rule.ours == kPullSecrets) return pullSecrets(node);
    compat_ = compat_ || path == "legacyMetrics";
    for (const std::string& ours : split(words, ' ')) {
      std::vector<std::string> keys = split(ours, '.');
      // Dots in users' own keys (annotations) do not separate.
      if (rule.theirs.back() == '.') keys.push_back(path.substr(rule.theirs.size()));
      YAML::Node at = values_;
      for (std::size_t i = 0; i + 1 < keys.size(); ++i) at.reset(at[keys[i]]);
      at[keys.back()] = YAML::Clone(node);
      if (ours == kOvercommit) at[keys.back()].SetTag("!");
    }
    if (path == "resourceName" || path == "device-config.content")
      by_hand_.emplace_back(path, std::string(kRenamed));
  }

  // For both lists: an entry in one does not replace an entry in the other.
  void pullSecrets(const YAML::Node& node) {
    for (const auto& one : node) {
      YAML::Node secret = YAML::Clone(one);
      if (one.IsScalar()) {
        secret = YAML::Node(YAML::NodeType::Map);
        secret["name"] = one.Scalar();
      }
      values_["imagePullSecrets"].push_back(secret);
    }
  }

  static std::vector<std::string> split(const std::string& text, char by) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (std::size_t end = text.find(by); end != std::string::npos; end = text.find(by, begin)) {
      parts.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    parts.push_back(text.substr(begin));
    return parts;
  }

  YAML::Node values_{YAML::NodeType::Map};
  PathReasons moot_, by_hand_;
  bool compat_ = false;  // metrics keep HAMi's names
  std::vector<std::string> unknown_;
};

}  // namespace

Result<std::string> valuesFromHami(const std::string& text, const std::string& name) {
  // helm prints "null" for a release without values, and nothing where it failed.
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    return Error{ErrorCode::kUsage, name +
                                        ": no values; does the release exist (helm list -A)? "
                                        "accepted: values of a Helm chart, or null"};
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap() && !root.IsNull())
      return Error{ErrorCode::kUsage, name + ": not a map; accepted: values of a Helm chart"};
    Migration migration;
    if (root.IsMap()) migration.convert(root, "", 0);
    return migration.text();
  } catch (const YAML::Exception& fault) {
    return Error{ErrorCode::kUsage,
                 name + ":" + std::to_string(fault.mark.line + 1) + ": " + fault.msg};
  }
}

}  // namespace divvy::cli
