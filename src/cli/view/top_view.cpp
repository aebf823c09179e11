#include "view/top_view.h"

#include "view/line_painter.h"
#include "view/memory_notes.h"
#include "view/table.h"
#include "view/top_compute.h"

namespace divvy::cli {
namespace {

constexpr std::size_t kBarWidth = 24;
constexpr std::size_t kSmallBar = 10;
constexpr std::size_t kTinyBar = 6;

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
  if (device.overcommit_permille <= 1000) return;
  const std::string note = deviceNote(device);
  painter.line("  " + ratioWord(device.overcommit_permille) + "  budget " +
               sizeWord(device.budget) + "  promised " + sizeWord(device.promised) +
               (note.empty() ? "" : "  " + note));
}

std::string rateWord(std::uint64_t bytes) {
  return bytes == 0 ? "-" : sizeWord(bytes);
}

// For oversubscribed memory: where it is, and how fast it moves.
void paintSwapped(Painter& painter, const agent::TenantView& tenant,
                  const agent::ShareView& share) {
  const std::string label = tenant.name.empty() ? commandLine(tenant.command) : tenant.name;
  painter.barLine(padRight(tenant.id, 8) + padLeft(std::to_string(tenant.pid), 8) +
                      padLeft(std::to_string(share.device), 4) + "  ",
                  painter.bar(share.resident, share.used, share.limit, kTinyBar),
                  percentOf(share.used, share.limit),
                  padLeft(sizeWord(share.resident), 9) + padLeft(sizeWord(share.swapped), 9) +
                      padLeft(sizeWord(share.limit), 9) + padLeft(rateWord(share.in_bps), 9) +
                      padLeft(rateWord(share.out_bps), 9) + "  " +
                      (tenant.state == "running" ? "" : tenant.state + ": ") + label);
}

void paintShare(Painter& painter, const agent::TenantView& tenant, const agent::ShareView& share) {
  const std::string label = tenant.name.empty() ? commandLine(tenant.command) : tenant.name;
  const std::string util = share.utilisation < 0 ? "-" : std::to_string(share.utilisation) + "%";
  painter.barLine(
      padRight(tenant.id, 8) + padLeft(std::to_string(tenant.pid), 8) +
          padLeft(std::to_string(share.device), 4) + "  ",
      painter.bar(share.used, 0, share.limit, kSmallBar), percentOf(share.used, share.limit),
      padLeft(sizeWord(share.used), 10) + padLeft(sizeWord(share.limit), 10) + padLeft(util, 6) +
          "  " + (tenant.state == "running" ? "" : tenant.state + ": ") + label);
}

void paintMemory(Painter& painter, const agent::Snapshot& node) {
  const bool swapped = oversubscribed(node);
  const std::string start = padRight("TENANT", 8) + padLeft("PID", 8) + padLeft("GPU", 4) + "  ";
  painter.line(swapped ? start + padRight("MEMORY", kTinyBar) + padLeft("RESIDENT", 9) +
                             padLeft("SWAPPED", 9) + padLeft("LIMIT", 9) + padLeft("IN/s", 9) +
                             padLeft("OUT/s", 9) + "  NAME"
                       : start + padRight("MEMORY", kSmallBar) + padLeft("USED", 10) +
                             padLeft("LIMIT", 10) + padLeft("UTIL", 6) + "  NAME",
               kDim);
  for (const agent::TenantView& tenant : node.tenants) {
    for (const agent::ShareView& share : tenant.shares)
      swapped ? paintSwapped(painter, tenant, share) : paintShare(painter, tenant, share);
    if (tenant.shares.empty())
      painter.line(padRight(tenant.id, 8) + "  " + tenant.state + ": " + tenant.note);
  }
  for (const agent::QueuedView& waiting : node.queue) {
    painter.line(padRight("queued", 8) + padLeft(std::to_string(waiting.pid), 8) + "      " +
                 waiting.memory + "  " + waiting.reason);
  }
}

void paintNode(Painter& painter, const agent::Snapshot& node, const TopSample& look) {
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
  paintMemory(painter, node);
  if (node.tenants.empty()) return;
  painter.line("");
  paintCompute(painter, node);
}

}  // namespace

std::vector<std::string> drawTop(const std::vector<agent::Snapshot>& nodes, const TopSample& look) {
  Painter painter(look);
  for (const agent::Snapshot& node : nodes) {
    if (!painter.lines.empty()) painter.line("");
    paintNode(painter, node, look);
  }
  if (nodes.empty()) painter.line("no agent is running: no shares");
  if (look.size.rows != 0 && painter.lines.size() > look.size.rows) {
    const std::size_t hidden = painter.lines.size() - look.size.rows + 1;
    painter.lines.resize(look.size.rows - 1);
    painter.line("... " + std::to_string(hidden) + " lines more");
  }
  return std::move(painter.lines);
}

}  // namespace divvy::cli
