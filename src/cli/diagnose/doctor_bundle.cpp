#include "diagnose/doctor_bundle.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include <boost/json.hpp>

#include "base/rfc3339.h"
#include "doctor/redact.h"
#include "doctor/redacted_object.h"
#include "json/path.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;
using doctor::Bundle;
using doctor::NameRedactor;

constexpr std::size_t kMaxEvents = 200;
constexpr std::size_t kMaxPods = 5000;
constexpr std::size_t kMaxMaps = 100;

// "team-a/web/main" consists of three names.
void knowParts(NameRedactor* names, const char* kind, const std::string& text) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('/', at), text.size());
    names->know(kind, text.substr(at, end - at));
    at = end + 1;
  }
}

NameRedactor namesIn(const Examined& examined) {
  NameRedactor names;
  utsname kernel{};
  if (uname(&kernel) == 0) names.know("machine", kernel.nodename);
  const char* user = std::getenv("USER");
  if (user != nullptr && std::string(user) != "root") names.know("user", user);
  const std::string& server = examined.report.server;
  names.know("server", server.substr(0, server.rfind(':')));
  for (const AgentTalk& talk : examined.talks) {
    for (const agent::TenantView& tenant : talk.snapshot.tenants)
      knowParts(&names, "tenant", tenant.name);
    for (const agent::QueuedView& one : talk.snapshot.queue) knowParts(&names, "tenant", one.name);
    // Includes tenants that have ended.
    for (const agent::EventView& one : talk.events) knowParts(&names, "tenant", one.name);
  }
  if (!examined.observation) return names;
  for (const doctor::NodeDevices& node : examined.observation->facts.nodes)
    names.know("node", node.name);
  const auto known = [&](const std::string& ns, const std::string& name) {
    names.know("namespace", ns);
    names.know("pod", name);
  };
  for (const json::value& pod : examined.observation->pods)
    known(textAt(pod, {"metadata", "namespace"}), textAt(pod, {"metadata", "name"}));
  for (const doctor::WaitingPod& pod : examined.observation->facts.waiting)
    known(pod.namespace_name, pod.name);
  return names;
}

// The pod, node or other object of an Event; it may no longer exist.
void knowEvent(NameRedactor* names, const json::value& event) {
  const std::string kind = textAt(event, {"involvedObject", "kind"});
  names->know("namespace", textAt(event, {"involvedObject", "namespace"}));
  names->know("namespace", textAt(event, {"metadata", "namespace"}));
  names->know(kind.empty() || kind == "Pod" ? "pod"
              : kind == "Node"              ? "node"
                                            : "object",
              textAt(event, {"involvedObject", "name"}));
}

// When it last occurred; 0: not stated.
std::int64_t timeOf(const json::value& event) {
  std::int64_t last = 0;
  for (const std::string& time :
       {textAt(event, {"lastTimestamp"}), textAt(event, {"eventTime"}),
        textAt(event, {"series", "lastObservedTime"}), textAt(event, {"firstTimestamp"}),
        textAt(event, {"metadata", "creationTimestamp"})})
    last = std::max(last, rfc3339Ms(time, Rfc3339Form::kUtc));
  return last;
}

// Data of the cluster that only a bundle needs. It is read before anything is written, because
// names that occur in any of it are removed from all of it.
struct BundleObjects {
  doctor::ListError maps_read, events_read;  // the error, if they could not be read
  json::array maps, events;
};

BundleObjects readBundleObjects(Examined& examined, NameRedactor* names) {
  BundleObjects objects;
  if (!examined.observation || examined.observation->facts.fault || examined.api == nullptr)
    return objects;
  const std::string maps =
      "/api/v1/namespaces/" + examined.observation->facts.namespace_name + "/configmaps";
  const Result<void> maps_read = examined.api->list(maps, "", [&](const json::value& map) {
    if (textAt(map, {"metadata", "labels", "app.kubernetes.io/name"}) != "divvy") return;
    if (objects.maps.size() < kMaxMaps) objects.maps.push_back(doctor::configMapExcerpt(map));
  });
  // An API server lists by namespace and name, not by time.
  std::multimap<std::int64_t, json::object> last;
  const Result<void> events_read =
      examined.api->list("/api/v1/events", "", [&](const json::value& event) {
        if (!doctor::isTold(event)) return;
        knowEvent(names, event);
        last.emplace(timeOf(event), doctor::eventExcerpt(event));
        if (last.size() > kMaxEvents) last.erase(last.begin());
      });
  if (!maps_read) objects.maps_read = maps_read.error();
  if (!events_read) objects.events_read = events_read.error();
  for (auto& [time, event] : last) objects.events.push_back(std::move(event));
  return objects;
}

// Collects documents; each is redacted before it is stored.
class BundleCollector {
 public:
  BundleCollector(Bundle* bundle, const NameRedactor* names) : bundle_(bundle), names_(names) {}

  void add(const std::string& name, const std::string& what, const json::value& document) {
    bundle_->files.push_back(
        {name, json::serialize(doctor::redacted(document, names_)) + "\n", what});
  }
  // Adds a text that Divvy wrote.
  void addText(const std::string& name, const std::string& what, const std::string& text) {
    boost::system::error_code fault;
    const json::value document = json::parse(text, fault);
    if (fault) return omit(name, "not JSON: " + fault.message());
    add(name, what, document);
  }
  // Adds the document if the list could be read, else the reason.
  void addRead(const std::string& name, const std::string& what, const doctor::ListError& listed,
               const json::value& document) {
    if (listed) return omit(name, listed->message());
    add(name, what, document);
  }
  void omit(const std::string& what, const std::string& why) {
    const std::string clean = doctor::withoutSecrets(why);
    bundle_->omitted.push_back({what, names_ == nullptr ? clean : names_->replaced(clean)});
  }

 private:
  Bundle* bundle_;
  const NameRedactor* names_;
};

json::object versionsOf(const Examined& examined) {
  json::object versions{{"divvy", examined.report.version}, {"driver", examined.driver}};
  utsname kernel{};
  if (uname(&kernel) == 0) {
    versions["kernel"] = kernel.release;
    versions["architecture"] = kernel.machine;
    versions["machine"] = kernel.nodename;
  }
  if (examined.observation && examined.observation->facts.version)
    versions["kubernetes"] = examined.observation->facts.version->text;
  json::array agents;
  for (const AgentTalk& talk : examined.talks)
    agents.push_back(json::object{
        {"node", talk.snapshot.node}, {"version", talk.version}, {"driver", talk.snapshot.driver}});
  versions["agents"] = std::move(agents);
  return versions;
}

void addAgents(Examined& examined, BundleCollector* to) {
  if (examined.talks.empty()) return to->omit("agents", "no agent answered, or none was queried");
  std::vector<agent::Snapshot> snapshots;
  std::vector<std::pair<std::string, agent::EventView>> events;
  for (AgentTalk& talk : examined.talks) {
    for (agent::TenantView& tenant : talk.snapshot.tenants) tenant.command.clear();
    snapshots.push_back(talk.snapshot);
    for (const agent::EventView& event : talk.events)
      events.emplace_back(talk.snapshot.node, event);
  }
  to->addText("agents/ls.json", "divvy ls -o json, without commands",
              agent::tenantsJson(snapshots));
  to->addText("agents/gpus.json", "divvy gpus -o json", agent::devicesJson(snapshots));
  to->addText("agents/events.json", "divvy events -o json", agent::eventsJson(events, false));
}

json::array excerptsOf(const std::vector<json::value>& objects,
                       json::object (*excerpt)(const json::value&)) {
  json::array all;
  for (const json::value& one : objects) all.push_back(excerpt(one));
  return all;
}

void addCluster(Examined& examined, const BundleObjects& objects, BundleCollector* to) {
  if (!examined.observation || examined.observation->facts.fault || examined.api == nullptr)
    return to->omit("cluster", "no agent answered, or none was queried");
  ClusterObservation& observation = *examined.observation;
  to->addRead("cluster/nodes.json", "nodes with devices: amounts, and annotations about them",
              observation.facts.nodes_listed, excerptsOf(observation.nodes, doctor::nodeExcerpt));
  if (observation.pods.size() > kMaxPods) {
    to->omit("cluster/pods.json", "of " + std::to_string(observation.pods.size()) + " pods only " +
                                      std::to_string(kMaxPods) + " are in it");
    observation.pods.resize(kMaxPods);
  }
  to->addRead("cluster/pods.json", "pods with devices: requests, and annotations about them",
              observation.facts.pods_listed, excerptsOf(observation.pods, doctor::podExcerpt));
  json::array leases;
  if (observation.facts.lease) leases.push_back(doctor::leaseExcerpt(observation.lease));
  to->addRead("cluster/leases.json", "the current leader", observation.facts.lease_read, leases);
  to->addRead("cluster/configmaps.json", "Divvy's own", objects.maps_read, objects.maps);
  to->addRead("cluster/events.json",
              "the scheduler's last events, and pods that kubelets refused, by time",
              objects.events_read, objects.events);
}

void addNever(BundleCollector* to) {
  to->omit("Secrets, certificates, keys, tokens, kubeconfigs", "never read for it");
  to->omit("environment, commands and arguments, of pods and of tenants", "they hold secrets");
  to->omit("images and volumes of pods", "not needed");
  to->omit("labels and annotations other than Divvy's, HAMi's and NVIDIA's", "unrelated; counted");
  to->omit("pods without devices", "not needed");
  to->omit("agent.log and logs of pods",
           "they can contain anything; send them separately if requested");
}

}  // namespace

doctor::Bundle bundleOf(Examined& examined, bool redact_names) {
  Bundle bundle;
  bundle.version = examined.report.version;
  bundle.written_ms = examined.report.written_ms;
  bundle.redacted = redact_names;
  NameRedactor names = namesIn(examined);
  const BundleObjects objects = readBundleObjects(examined, &names);
  BundleCollector collector(&bundle, redact_names ? &names : nullptr);
  collector.addText("doctor.json", "divvy doctor -o json", doctor::jsonOf(examined.report));
  collector.add("versions.json", "versions of the components here", versionsOf(examined));
  addAgents(examined, &collector);
  addCluster(examined, objects, &collector);
  addNever(&collector);
  return bundle;
}

}  // namespace divvy::cli
