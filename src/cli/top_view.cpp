#include "top_view.h"

#include <algorithm>
#include <cstdio>

#include "table.h"

namespace divvy::cli {
namespace {

constexpr std::size_t kBarWidth = 24;
constexpr std::size_t kSmallBar = 10;
constexpr const char* kReset = "\x1b[0m";
constexpr const char* kBold = "\x1b[1m";
constexpr const char* kDim = "\x1b[2m";

// The thresholds of nvitop: calm below 10 %, busy from 80 %.
const char* colorOf(unsigned percent) {
  if (percent >= 80) return "\x1b[31m";
  return percent >= 10 ? "\x1b[33m" : "\x1b[32m";
}

unsigned percentOf(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return 0;
  return static_cast<unsigned>(
      std::min<unsigned __int128>(static_cast<unsigned __int128>(part) * 100 / whole, 999));
}

class Painter {
 public:
  explicit Painter(const TopLook& look) : look_(look) {}

  // Cut first, coloured after: escapes have no width.
  void line(const std::string& text, const char* style = nullptr) {
    const std::string fitting = cut(text, look_.size.columns);
    lines.push_back(look_.color && style != nullptr ? style + fitting + kReset : fitting);
  }

  // `text` with `bar` in the middle, the bar coloured.
  void barLine(const std::string& before, const std::string& bar, unsigned percent,
               const std::string& after) {
    const std::size_t taken = columnsOf(before) + columnsOf(bar);
    if (taken >= look_.size.columns) return line(before + bar + after);
    const std::string rest = cut(after, look_.size.columns - taken);
    lines.push_back(before + (look_.color ? colorOf(percent) + bar + kReset : bar) + rest);
  }

  // used <= promised <= whole: "####::::....".
  std::string bar(std::uint64_t used, std::uint64_t promised, std::uint64_t whole,
                  std::size_t width) const {
    const auto cells = [&](std::uint64_t part) {
      const std::uint64_t limited = std::min(part, whole);
      return whole == 0
                 ? 0
                 : static_cast<std::size_t>(
                       (static_cast<unsigned __int128>(limited) * width + whole - 1) / whole);
    };
    const std::size_t full = cells(used);
    const std::size_t half = std::max(full, cells(promised));
    std::string text;
    for (std::size_t i = 0; i < width; ++i) {
      if (look_.utf8) {
        text += i < full ? "█" : i < half ? "▒" : "·";
      } else {
        text += i < full ? '#' : i < half ? ':' : '.';
      }
    }
    return text;
  }

  std::vector<std::string> lines;

 private:
  const TopLook& look_;
};

std::string padLeft(const std::string& text, std::size_t width) {
  const std::size_t have = columnsOf(text);
  return have >= width ? text : std::string(width - have, ' ') + text;
}

std::string padRight(const std::string& text, std::size_t width) {
  const std::string fitting = cut(text, width);
  return fitting + std::string(width - columnsOf(fitting), ' ');
}

void paintDevice(Painter& painter, const agent::DeviceView& device) {
  const std::string util =
      device.utilisation < 0 ? "  -" : padLeft(std::to_string(device.utilisation), 3) + "%";
  painter.line("GPU " + std::to_string(device.index) + "  " + padRight(device.model, 34) +
               " util " + util + "   " + std::to_string(device.tenants) +
               (device.tenants == 1 ? " tenant" : " tenants"));
  painter.barLine("  ", painter.bar(device.used, device.allocated, device.physical, kBarWidth),
                  percentOf(device.used, device.physical),
                  "  used " + sizeWord(device.used) + "  allocated " + sizeWord(device.allocated) +
                      "  of " + sizeWord(device.physical));
}

void paintShare(Painter& painter, const agent::TenantView& tenant, const agent::ShareView& share) {
  const std::string label = tenant.name.empty() ? commandLine(tenant.command) : tenant.name;
  const std::string time = share.utilisation < 0 ? "-" : std::to_string(share.utilisation) + "%";
  const std::string cores = share.cores == 0 ? "-" : std::to_string(share.cores) + "%";
  painter.barLine(
      padRight(tenant.id, 8) + padLeft(std::to_string(tenant.pid), 8) +
          padLeft(std::to_string(share.device), 4) + "  ",
      painter.bar(share.used, 0, share.limit, kSmallBar), percentOf(share.used, share.limit),
      padLeft(sizeWord(share.used), 10) + padLeft(sizeWord(share.limit), 10) + padLeft(cores, 6) +
          padLeft(time, 6) + "  " + (tenant.state == "running" ? "" : tenant.state + ": ") + label);
}

void paintNode(Painter& painter, const agent::Snapshot& node, const TopLook& look) {
  painter.line(
      "divvy top   " + node.node + "   driver " + (node.driver.empty() ? "-" : node.driver) +
          "   " + std::to_string(node.tenants.size()) +
          (node.tenants.size() == 1 ? " tenant" : " tenants") +
          (node.queue.empty() ? "" : "   " + std::to_string(node.queue.size()) + " queued") +
          "   " + look.clock,
      kBold);
  painter.line("");
  for (const agent::DeviceView& device : node.devices) paintDevice(painter, device);
  painter.line("");
  painter.line(padRight("TENANT", 8) + padLeft("PID", 8) + padLeft("GPU", 4) + "  " +
                   padRight("MEMORY", kSmallBar) + padLeft("USED", 10) + padLeft("LIMIT", 10) +
                   padLeft("CORES", 6) + padLeft("TIME", 6) + "  NAME",
               kDim);
  for (const agent::TenantView& tenant : node.tenants) {
    for (const agent::ShareView& share : tenant.shares) paintShare(painter, tenant, share);
  }
  for (const agent::QueuedView& waiting : node.queue) {
    painter.line(padRight("queued", 8) + padLeft(std::to_string(waiting.pid), 8) + "      " +
                 waiting.memory + "  " + waiting.reason);
  }
}

}  // namespace

std::vector<std::string> drawTop(const std::vector<agent::Snapshot>& nodes, const TopLook& look) {
  Painter painter(look);
  for (const agent::Snapshot& node : nodes) {
    if (!painter.lines.empty()) painter.line("");
    paintNode(painter, node, look);
  }
  if (nodes.empty()) painter.line("no agent is running: nothing is shared");
  if (look.size.rows != 0 && painter.lines.size() > look.size.rows) {
    const std::size_t hidden = painter.lines.size() - look.size.rows + 1;
    painter.lines.resize(look.size.rows - 1);
    painter.line("... " + std::to_string(hidden) + " lines more");
  }
  return std::move(painter.lines);
}

}  // namespace divvy::cli
