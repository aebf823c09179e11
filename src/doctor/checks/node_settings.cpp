// Checks of node settings. An agent does not start with wrong settings, and a running agent does
// not read them again until it is restarted.
#include "checks/check_lists.h"
#include "report/format.h"

namespace divvy::doctor {
namespace {

void checkAt(const SettingsFile& file, FindingBuilder& sink) {
  if (file.unheeded && file.unheeded->empty()) return sink.ok("all settings are used", file.path);
  if (file.unheeded)
    return sink.warn({joined(*file.unheeded), "these are ignored, and the rest applies",
                      "correct or remove them: docs/reference/node-settings.md"},
                     file.path);
  const Error& why = file.unheeded.error();
  if (why.code() == ErrorCode::kIo) return sink.skip(why.message(), file.path);
  const bool absent = why.code() == ErrorCode::kNotFound;
  sink.fault({absent ? "does not exist, and " + file.told_by + " names it" : why.message(),
              "agents that name it do not start; a running agent keeps the settings of its start",
              "correct it (docs/reference/node-settings.md), then restart the agent; with the "
              "chart: helm upgrade --set-file agent.nodeSettings=FILE"},
             file.path);
}

void checkSettings(const NodeFacts& facts, FindingBuilder& sink) {
  for (const SettingsFile& file : facts.settings.files) checkAt(file, sink);
  if (facts.settings.unlisted) sink.skip(facts.settings.unlisted->message());
  if (sink.hasFindings()) return;
  for (const RuntimeDir& dir : facts.runtimes)
    for (const AgentFacts& agent : dir.agents)
      if (agent.answer && agent.answer->words_known) sink.ok("it has none", agent.dir);
  if (!sink.hasFindings())
    sink.skip(
        "none in the usual places, and no agent runs: name the file with --node-settings FILE");
}

}  // namespace

NodeEntries settingsChecks() {
  return {{"node-settings", "are settings of single nodes valid", checkSettings}};
}

}  // namespace divvy::doctor
