#include "top_view.h"

#include "painter.h"
#include "table.h"
#include "top_compute.h"

namespace divvy::cli {
namespace {

constexpr std::size_t kBarWidth = 24;
constexpr std::size_t kSmallBar = 10;

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
  const std::string util = share.utilisation < 0 ? "-" : std::to_string(share.utilisation) + "%";
  painter.barLine(
      padRight(tenant.id, 8) + padLeft(std::to_string(tenant.pid), 8) +
          padLeft(std::to_string(share.device), 4) + "  ",
      painter.bar(share.used, 0, share.limit, kSmallBar), percentOf(share.used, share.limit),
      padLeft(sizeWord(share.used), 10) + padLeft(sizeWord(share.limit), 10) + padLeft(util, 6) +
          "  " + (tenant.state == "running" ? "" : tenant.state + ": ") + label);
}

void paintMemory(Painter& painter, const agent::Snapshot& node) {
  painter.line(padRight("TENANT", 8) + padLeft("PID", 8) + padLeft("GPU", 4) + "  " +
                   padRight("MEMORY", kSmallBar) + padLeft("USED", 10) + padLeft("LIMIT", 10) +
                   padLeft("UTIL", 6) + "  NAME",
               kDim);
  for (const agent::TenantView& tenant : node.tenants) {
    for (const agent::ShareView& share : tenant.shares) paintShare(painter, tenant, share);
    if (tenant.shares.empty())
      painter.line(padRight(tenant.id, 8) + "  " + tenant.state + ": " + tenant.note);
  }
  for (const agent::QueuedView& waiting : node.queue) {
    painter.line(padRight("queued", 8) + padLeft(std::to_string(waiting.pid), 8) + "      " +
                 waiting.memory + "  " + waiting.reason);
  }
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
  paintMemory(painter, node);
  if (node.tenants.empty()) return;
  painter.line("");
  paintCompute(painter, node);
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
