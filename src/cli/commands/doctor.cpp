// `divvy doctor`: checks of this machine and of the cluster.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "agent/install_layout.h"
#include "commands/commands.h"
#include "config/node_settings.h"
#include "diagnose/doctor_agent.h"
#include "diagnose/doctor_bundle.h"
#include "diagnose/doctor_cluster.h"
#include "doctor/bundle.h"
#include "doctor/checks.h"
#include "doctor/read_node.h"
#include "doctor/report.h"
#include "view/terminal.h"

namespace divvy::cli {
namespace {

using doctor::Findings;
using doctor::FindingScope;

// Limit for a machine's file systems: a mount of an unreachable server never answers.
constexpr std::chrono::seconds kNodeBound{20};
// The directory that the chart and the service of the Debian package use.
constexpr const char* kNodeRuntime = "/run/divvy";

bool isSelected(const DoctorOptions& options, const char* id) {
  return options.only.empty() ||
         std::find(options.only.begin(), options.only.end(), id) != options.only.end();
}

bool includesScope(const DoctorOptions& options, FindingScope scope) {
  if (scope == FindingScope::kNode ? options.cluster : options.node) return false;
  if (options.only.empty()) return true;
  for (const std::string& id : options.only)
    if (doctor::checkNamed(id)->scope == scope) return true;
  return false;
}

// `talks`: answers of agents; their thread may be left behind.
doctor::NodeOptions termsOf(const DoctorOptions& options,
                            const std::shared_ptr<std::vector<AgentTalk>>& talks) {
  doctor::NodeOptions terms;
  terms.version = DIVVY_VERSION;
  if (!options.runtime_dir.empty()) terms.runtime_dirs.push_back(options.runtime_dir);
  if (const Result<std::string> own = agent::runtimeRoot()) terms.runtime_dirs.push_back(*own);
  terms.runtime_dirs.emplace_back(kNodeRuntime);
  if (!options.install_dir.empty()) terms.staged_dir = options.install_dir;
  if (!options.kubelet_dir.empty()) terms.kubelet_dir = options.kubelet_dir;
  if (const Result<agent::InstallLayout> install = agent::findInstall())
    terms.lib_dir = install->lib_dir;
  terms.settings_file = options.node_settings;
  terms.settings = [](const std::string& text,
                      const std::string& path) -> Result<std::vector<std::string>> {
    Result<NodeSettings> read = readNodeSettings(text, path);
    if (!read) return read.error();
    return std::move(read->unheeded);
  };
  terms.ask = [talks](const std::string& dir) -> Result<doctor::AgentAnswer> {
    Result<AgentTalk> talk = talkTo(dir);
    if (!talk) return talk.error();
    talks->push_back(std::move(*talk));
    return answerOf(talks->back());
  };
  return terms;
}

// Runs on a thread of its own, which is left behind if it does not return.
Result<Findings> examineNode(const DoctorOptions& options, Examined* examined) {
  Result<doctor::RootFs> tree = doctor::RootFs::open(options.root);
  if (!tree) return Error(tree.error()).context("--root");
  auto shared = std::make_shared<doctor::RootFs>(std::move(*tree));
  auto done = std::make_shared<std::promise<doctor::NodeFacts>>();
  auto talks = std::make_shared<std::vector<AgentTalk>>();
  std::future<doctor::NodeFacts> read = done->get_future();
  std::thread([shared, done, terms = termsOf(options, talks)] {
    done->set_value(doctor::readNode(*shared, terms));
  }).detach();
  if (read.wait_for(kNodeBound) != std::future_status::ready)
    return doctor::skipAll(FindingScope::kNode,
                           "a file system of this machine did not answer within " +
                               std::to_string(kNodeBound.count()) + " s",
                           options.only);
  const doctor::NodeFacts facts = read.get();
  examined->talks = std::move(*talks);
  if (facts.driver.version) examined->driver = *facts.driver.version;
  return doctor::diagnose(facts, options.only);
}

kube::ClientOptions clientTerms() {
  kube::ClientOptions terms;
  terms.bound = std::chrono::seconds(5);
  terms.tries = 2;
  return terms;
}

Result<Findings> examineCluster(const DoctorOptions& options, Examined* examined) {
  const Result<vendors::Catalog> catalog = catalogFor(options.choice);
  if (!catalog) return catalog.error();
  // If the user did not ask for a cluster, a missing one is not an error.
  const auto skipped = [&](const Error& why) {
    return doctor::skipAll(FindingScope::kCluster, "the cluster was not checked: " + why.message(),
                           options.only);
  };
  const ConnectionOptions& connection = options.choice.connection;
  const bool asked = options.cluster || connection.isSet();
  Result<kube::Access> access = accessFor(connection);
  if (!access && asked) return access.error();
  if (!access) return skipped(access.error());
  std::string& server = examined->report.server;
  server = access->host + ":" + access->port;
  Result<std::unique_ptr<KubeApi>> api =
      KubeApi::open(std::move(*access), connection.with(clientTerms()));
  if (!api && asked) return api.error();
  if (!api) return skipped(api.error());
  examined->api = std::move(*api);
  examined->observation =
      observeCluster(*examined->api, server, *catalog,
                     isSelected(options, "scheduler-lease") || isSelected(options, "clock-skew"));
  const doctor::ClusterFacts& facts = examined->observation->facts;
  if (facts.fault && !asked) return skipped(*facts.fault);
  return doctor::diagnose(facts, options.only);
}

std::int64_t nowMs() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

Result<void> writeFor(const DoctorOptions& options, Examined& examined) {
  const doctor::Bundle bundle = bundleOf(examined, options.redact_names);
  const Result<std::string> bytes = doctor::archiveOf(bundle);
  if (!bytes) return bytes.error();
  const Result<void> written = doctor::writeBundle(options.bundle, *bytes, options.force);
  if (!written) return written;
  printNote(options.bundle + ": " + std::to_string(bundle.files.size() + 1) +
            " files; its manifest.json lists what was left out");
  return {};
}

}  // namespace

int examine(const DoctorOptions& options) {
  if (options.list) {
    std::fputs(doctor::listOf(options.output.json).c_str(), stdout);
    return 0;
  }
  if (!options.bundle.empty()) {
    const Result<void> may = doctor::mayWriteBundle(options.bundle, options.force);
    if (!may) return fail(may.error());
  }
  Examined examined;
  doctor::Report& report = examined.report;
  report.version = DIVVY_VERSION;
  report.written_ms = nowMs();
  if (includesScope(options, FindingScope::kNode)) {
    Result<Findings> found = examineNode(options, &examined);
    if (!found) return fail(found.error());
    report.root = options.root;
    report.findings = std::move(*found);
  }
  if (includesScope(options, FindingScope::kCluster)) {
    Result<Findings> found = examineCluster(options, &examined);
    if (!found) return fail(found.error());
    report.findings.insert(report.findings.end(), found->begin(), found->end());
  }
  const std::string text =
      options.output.json ? doctor::jsonOf(report) : doctor::textOf(report, !options.verbose);
  std::fputs(text.c_str(), stdout);
  if (!options.bundle.empty()) {
    const Result<void> written = writeFor(options, examined);
    if (!written) return fail(written.error());
  }
  return doctor::countOf(report.findings, doctor::FindingState::kFault) == 0 ? 0 : kNegativeResult;
}

}  // namespace divvy::cli
