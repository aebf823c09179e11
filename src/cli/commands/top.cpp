// `divvy top`.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "agent_client/node_selection.h"
#include "commands/commands.h"
#include "view/terminal.h"
#include "view/top_view.h"

namespace divvy::cli {
namespace {

using Clock = std::chrono::steady_clock;

// The width of a picture that goes into a file.
constexpr std::size_t kUncut = 500;

std::string clockNow() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%H:%M:%S", &local);
  return text.data();
}

// Agents may end and start while the view runs.
Result<std::vector<agent::Snapshot>> sampleAll(std::vector<NodeLink>& links, const SimChoice& sim) {
  std::vector<agent::Snapshot> snapshots = snapshotsOf(links);
  if (snapshots.empty()) {
    Result<std::vector<NodeLink>> running = linkRunning(sim);
    if (!running) return running.error();
    links = std::move(*running);
    snapshots = snapshotsOf(links);
  }
  return snapshots;
}

Result<int> plain(std::vector<NodeLink>& links, const TopOptions& options) {
  const unsigned frames = options.frames == 0 ? 1 : options.frames;
  for (unsigned frame = 0; frame < frames; ++frame) {
    if (frame != 0) poll(nullptr, 0, static_cast<int>(options.interval_ms));
    const Result<std::vector<agent::Snapshot>> nodes = sampleAll(links, options.sim);
    if (!nodes) return nodes.error();
    if (options.output.json) {
      std::fputs(agent::snapshotsJson(*nodes).c_str(), stdout);
    } else {
      const std::size_t columns = onTerminal() ? screenSize().columns : kUncut;
      const TopSample style{{columns, 0}, false, false, clockNow()};
      for (const std::string& line : drawTop(*nodes, style)) std::printf("%s\n", line.c_str());
    }
    std::fflush(stdout);
  }
  return 0;
}

Result<int> live(std::vector<NodeLink>& links, const TopOptions& options) {
  const bool color = options.output.color && wantsColor();
  const bool utf8 = speaksUtf8();
  LiveScreen screen;
  for (unsigned frame = 0; options.frames == 0 || frame < options.frames; ++frame) {
    const Result<std::vector<agent::Snapshot>> nodes = sampleAll(links, options.sim);
    if (!nodes) return nodes.error();
    const Clock::time_point next = Clock::now() + std::chrono::milliseconds(options.interval_ms);
    screen.draw(drawTop(*nodes, {screenSize(), color, utf8, clockNow() + "   q quits"}));
    for (auto left = next - Clock::now(); left.count() > 0; left = next - Clock::now()) {
      const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
      const LiveScreen::Event event = screen.wait(static_cast<int>(ms));
      if (event == LiveScreen::Event::kQuit) return 0;
      if (event == LiveScreen::Event::kHangUp) return 128 + screen.lastSignal();
      if (event == LiveScreen::Event::kResize) {
        screen.draw(drawTop(*nodes, {screenSize(), color, utf8, clockNow() + "   q quits"}));
      }
    }
  }
  return 0;
}

}  // namespace

int top(const TopOptions& options) {
  Result<std::vector<NodeLink>> links = linkOrStart(options.sim);
  if (!links) return fail(links.error());
  const bool terminal = onTerminal() && isatty(STDIN_FILENO) == 1;
  if (!terminal || options.output.json) {
    const Result<int> shown = plain(*links, options);
    return shown ? *shown : fail(shown.error());
  }
  const Result<int> status = live(*links, options);
  if (!status) return fail(status.error());
  if (*status <= 128) return *status;
  signal(*status - 128, SIG_DFL);
  raise(*status - 128);
  return *status;
}

}  // namespace divvy::cli
