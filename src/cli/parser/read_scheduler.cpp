// Options of `divvy scheduler`, from words.
#include <map>

#include "files/listen.h"
#include "kube/access.h"
#include "options/raw_options.h"
#include "scheduler/fencing_policy.h"

namespace divvy::cli {
namespace {

constexpr std::uint64_t kMinLifeMs = 10'000;

// "NAMESPACE/NAME" or "none".
Result<void> readLease(const std::string& text, SchedulerOptions* options) {
  if (text == "none") return {};
  const std::size_t slash = text.find('/');
  options->lease_namespace = slash == std::string::npos ? "" : text.substr(0, slash);
  options->lease_name = slash == std::string::npos ? "" : text.substr(slash + 1);
  const bool two = !options->lease_namespace.empty() && !options->lease_name.empty() &&
                   options->lease_name.find('/') == std::string::npos;
  if (two) return {};
  return Error{ErrorCode::kUsage,
               "--lease \"" + text + "\" is not accepted; NAMESPACE/NAME and none are"};
}

// An empty text changes nothing.
Result<void> readTime(const std::string& text, const char* option, std::uint64_t* ms) {
  if (text.empty()) return {};
  const Result<std::uint64_t> time = parseDurationMs(text);
  if (!time) return Error{time.error().code(), std::string(option) + ": " + time.error().message()};
  *ms = *time;
  return {};
}

Result<void> readLearning(const std::string& text, std::uint64_t* ms) {
  if (text == "off") {
    *ms = 0;
    return {};
  }
  const Result<void> read = readTime(text, "--inventory-learning", ms);
  if (!read) return Error{read.error().code(), read.error().message() + "; or off"};
  return {};
}

Result<void> readMostShares(const std::string& text, unsigned* most) {
  if (text.empty()) return {};
  const Result<unsigned> read = parseCount(text, "--most-different-shares", 0, 256);
  if (!read) return read.error();
  *most = *read;
  return {};
}

Result<void> readWhere(const std::string& text, const char* option, bool always,
                       scheduler::WhereAgents* out) {
  if (text.empty() || text == "auto") return {};
  if (text == "never" || (always && text == "always")) {
    *out = text == "never" ? scheduler::WhereAgents::kNever : scheduler::WhereAgents::kAlways;
    return {};
  }
  return Error{ErrorCode::kUsage, std::string(option) + " \"" + text + "\" is not accepted; auto" +
                                      (always ? ", always" : "") + " and never are"};
}

// "a,b"; an empty text yields no parts.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  std::size_t begin = 0;
  for (std::size_t comma = text.find(','); comma != std::string::npos;
       comma = text.find(',', begin)) {
    parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// The Service's names, as API servers and other clients use them.
std::vector<std::string> serviceNames(const std::string& name, const std::string& ns) {
  const std::string with = name + '.' + ns;
  return {name, with, with + ".svc", with + ".svc.cluster.local"};
}

Result<void> readPriorities(const SchedulerText& text, scheduler::PriorityRules* rules) {
  if (const auto read = scheduler::readPriorityClasses(text.priority_class, rules); !read)
    return Error(read.error()).context("--priority-class");
  if (const auto read = scheduler::readPriorityValues(text.priority_value, rules); !read)
    return Error(read.error()).context("--priority-value");
  return {};
}

Result<void> readOwnCertificate(const SchedulerText& text, SchedulerOptions* options) {
  const bool more = !text.registration.empty() || !text.names.empty() || !text.life.empty();
  if (text.secret.empty()) {
    if (!more) return {};
    return Error{ErrorCode::kUsage,
                 "--webhook-config, --cert-names and --cert-life require --cert-secret"};
  }
  if (!text.certificate.empty())
    return Error{ErrorCode::kUsage, "--cert-file and --cert-secret exclude each other"};
  const std::size_t slash = text.secret.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == text.secret.size())
    return Error{ErrorCode::kUsage,
                 "--cert-secret \"" + text.secret + "\" is not accepted; NAMESPACE/NAME is"};
  scheduler::OwnCertificate own;
  own.namespace_name = text.secret.substr(0, slash);
  own.name = text.secret.substr(slash + 1);
  own.registration = text.registration.empty() ? options->name : text.registration;
  own.names = serviceNames(options->name, own.namespace_name);
  for (std::string& name : split(text.names)) own.names.push_back(std::move(name));
  if (!text.life.empty()) {
    const Result<std::uint64_t> life = parseDurationMs(text.life);
    if (!life) return Error{life.error().code(), "--cert-life: " + life.error().message()};
    if (*life < kMinLifeMs)
      return Error{ErrorCode::kUsage,
                   "--cert-life " + text.life + " is too short; accepted: 10s or more"};
    own.life = std::chrono::seconds(*life / 1000);
  }
  options->own_certificate = std::move(own);
  return {};
}

// An empty text means to schedule, not to print.
Result<void> readPrint(const std::string& text, SchedulerOptions::Print* print) {
  using Print = SchedulerOptions::Print;
  const std::map<std::string, Print> known{
      {"config", Print::kConfig},     {"webhook", Print::kWebhook}, {"fencing", Print::kFencing},
      {"policies", Print::kPolicies}, {"queues", Print::kQueues},   {"kueue", Print::kKueue},
      {"options", Print::kOptions}};
  if (text.empty()) return {};
  const auto found = known.find(text);
  if (found == known.end())
    return Error{ErrorCode::kUsage, "--print \"" + text +
                                        "\" is not accepted; config, webhook, fencing, policies, "
                                        "queues, kueue and options are"};
  *print = found->second;
  return {};
}

Result<void> readPlatform(const SchedulerText& text, SchedulerOptions* options) {
  if (text.idle_url.empty() && !text.idle_ca.empty())
    return Error{ErrorCode::kUsage, "--idle-ca requires --idle-url"};
  if (!text.idle_url.empty()) {
    const Result<kube::Access> read = kube::urlAccess(text.idle_url);
    if (!read) return Error(read.error()).context("--idle-url");
  }
  options->idle_url = text.idle_url;
  options->idle_ca = text.idle_ca;
  return {};
}

}  // namespace

Result<Options> makeScheduler(const RawOptions& raw) {
  const SchedulerText& text = raw.scheduler;
  SchedulerOptions options;
  options.kubeconfig = text.kubeconfig;
  options.context = text.context;
  if (!text.name.empty()) options.name = text.name;
  for (const Result<void>& read :
       {readListen(text.listen, "--listen", &options.host, &options.port),
        readListen(text.webhook_listen, "--webhook-listen", &options.webhook_host,
                   &options.webhook_port),
        readListen(text.metrics_listen, "--metrics-listen", &options.metrics_host,
                   &options.metrics_port)}) {
    if (!read) return read.error();
  }
  if (text.certificate.empty() != text.key.empty())
    return Error{ErrorCode::kUsage, "--cert-file and --key-file require each other"};
  options.certificate_file = text.certificate;
  options.key_file = text.key;
  const Result<void> own = readOwnCertificate(text, &options);
  if (!own) return own.error();
  for (const Result<void>& read :
       {readTime(text.min_runtime, "--min-runtime", &options.min_runtime_ms),
        readTime(text.idle_notice, "--idle-notice", &options.idle_notice_ms),
        readTime(text.idle_extension, "--idle-extension", &options.idle_extension_ms),
        readTime(text.bypass_notice, "--bypass-notice", &options.bypass_notice_ms),
        readLearning(text.inventory_learning, &options.inventory_learning_ms),
        readMostShares(text.most_different_shares, &options.most_different_shares)}) {
    if (!read) return read.error();
  }
  if (const auto read = readPlatform(text, &options); !read) return read.error();
  options.ports_file = text.ports;
  options.all_feasible = text.all_feasible;
  for (const Result<void>& read :
       {readWhere(text.hami_label, "--hami-label", true, &options.hami_label),
        readWhere(text.locks, "--locks", false, &options.locks),
        readWhere(text.handshakes, "--handshakes", false, &options.handshakes)}) {
    if (!read) return read.error();
  }
  options.vendors = text.vendors;
  options.device_config = text.device_config;
  options.model_resources = text.model_resources;
  if (const auto read = readPriorities(text, &options.priorities); !read) return read.error();
  options.identity = text.identity;
  const Result<void> lease =
      readLease(text.lease.empty() ? scheduler::kDivvyNamespace + ('/' + options.name) : text.lease,
                &options);
  if (!lease) return lease.error();
  options.node_policy = text.node_policy;
  options.device_policy = text.device_policy;
  options.pools = text.pools;
  if (!text.compat.empty() && text.compat != "none" && text.compat != "hami")
    return Error{ErrorCode::kUsage,
                 "--compat \"" + text.compat + "\" is not accepted; none and hami are"};
  options.hami_metrics = text.compat_metrics;
  if (const auto read =
          readSwitch(text.deprecated_names, "--deprecated-names", &options.deprecated_names);
      !read)
    return read.error();
  options.hami_scores = text.compat == "hami";
  if (const auto read = readPrint(text.print, &options.print); !read) return read.error();
  options.writers = split(text.writers);
  options.binders = split(text.binders);
  options.others = split(text.others);
  const bool any = !options.writers.empty() || !options.binders.empty() || !options.others.empty();
  if (any && options.print != SchedulerOptions::Print::kPolicies)
    return Error{ErrorCode::kUsage,
                 "--writers, --binders and --other-schedulers require --print policies: a running "
                 "scheduler does not change policies in the cluster"};
  return Options{options};
}

}  // namespace divvy::cli
