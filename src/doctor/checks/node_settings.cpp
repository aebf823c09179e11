// Checks of node settings. An agent does not start with wrong settings, and a running agent does
// not read them again until it is restarted.
#include "checks/check_lists.h"
#include "report/format.h"

namespace divvy::doctor {
namespace {

void checkAt(const SettingsFile& file, FindingBuilder& sink) {
  if (file.unheeded && file.unheeded->empty()) return sink.ok("all of it is heeded", file.path);
  if (file.unheeded)
    return sink.warn({joined(*file.unheeded), "these change nothing, and the rest holds",
                      "correct them, or take them out: docs/reference/node-settings.md"},
                     file.path);
  const Error& why = file.unheeded.error();
  if (why.code() == ErrorCode::kIo) return sink.skip(why.message(), file.path);
  const bool absent = why.code() == ErrorCode::kNotFound;
  sink.fault({absent ? "is not there, and " + file.told_by + " names it" : why.message(),
              "no agent that is told of it starts; one that runs goes on with what it read at its "
              "start",
              "correct it (docs/reference/node-settings.md), then begin the agent anew; of the "
              "chart: helm "
              "upgrade --set-file agent.nodeSettings=FILE"},
             file.path);
}

void checkSettings(const NodeFacts& facts, FindingBuilder& sink) {
  for (const SettingsFile& file : facts.settings.files) checkAt(file, sink);
  if (facts.settings.unlisted) sink.skip(facts.settings.unlisted->message());
  if (sink.hasFindings()) return;
  for (const RuntimeDir& dir : facts.runtimes)
    for (const AgentFacts& agent : dir.agents)
      if (agent.answer && agent.answer->words_known) sink.ok("it was given none", agent.dir);
  if (!sink.hasFindings())
    sink.skip(
        "there is none in the usual places, and no agent runs that could be asked: "
        "--node-settings FILE says where");
}

}  // namespace

NodeEntries settingsChecks() {
  return {{"node-settings", "do agents understand what is said of single nodes", checkSettings}};
}

}  // namespace divvy::doctor
