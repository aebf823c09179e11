#include "view/top_compute.h"

#include <algorithm>
#include <cstdio>

#include "view/slowness_diagnosis.h"
#include "view/table.h"

namespace divvy::cli {
namespace {

// Column widths for 80 columns; a wider terminal gets longer names, more columns and longer bars.
constexpr std::size_t kNarrow = 80;
constexpr std::size_t kName = 8;
constexpr std::size_t kMoreName = 12;
constexpr std::size_t kBar = 8;
constexpr std::size_t kMoreBar = 16;

std::string permilleWord(int permille) {
  if (permille < 0) return "-";
  std::string text = std::to_string(permille / 10);
  if (permille % 10 != 0 && permille < 1000) text += "." + std::to_string(permille % 10);
  return text + "%";
}

struct Extra {
  const char* heading;
  std::size_t width;
  std::string (*cell)(const agent::TenantView& tenant);
};

constexpr Extra kExtras[] = {
    {"THROTTLED", 11, [](const agent::TenantView& t) { return timeWord(t.throttled_ms * 1000); }},
    {"POLICY", 8, [](const agent::TenantView& t) { return t.cores_policy; }},
    {"BACKEND", 12, [](const agent::TenantView& t) { return t.backend; }},
    {"ESCAPES", 9, [](const agent::TenantView& t) { return countWord(t.escapes); }},
    {"CPU", 6,
     [](const agent::TenantView& t) { return permilleWord(static_cast<int>(t.cpu_permille)); }},
};

struct Columns {
  std::size_t name = kName;
  std::size_t bar = kBar;
  std::size_t extras = 0;
};

Columns columnsFor(std::size_t width) {
  Columns columns;
  std::size_t spare = width > kNarrow ? width - kNarrow : 0;
  columns.name += std::min(spare, kMoreName);
  spare -= columns.name - kName;
  while (columns.extras < std::size(kExtras) && spare >= kExtras[columns.extras].width)
    spare -= kExtras[columns.extras++].width;
  columns.bar += std::min(spare, kMoreBar);
  return columns;
}

void paintHeading(Painter& painter, const Columns& columns) {
  std::string text = padRight("TENANT", columns.name) + padLeft("GPU", 4) + " " +
                     padRight("COMPUTE", columns.bar) + padLeft("GOT", 6) + padLeft("ASKED", 6) +
                     padLeft("WEIGHT", 7) + " " + padRight("MODE", 11) + padLeft("HELD", 5) +
                     padLeft("WAITS", 7) + padLeft("GRANT/S", 8) + padLeft("LONGEST", 8);
  for (std::size_t i = 0; i < columns.extras; ++i)
    text += padLeft(kExtras[i].heading, kExtras[i].width);
  painter.line(text, kDim);
}

// All devices of a tenant are gated together, so only its first line has the figures.
std::string figuresOf(const agent::TenantView& tenant, const Columns& columns) {
  const std::string weight = tenant.weight == 0 ? "-" : std::to_string(tenant.weight) + "%";
  std::string text = padLeft(weight, 7) + " " + padRight(tenant.mode, 11) +
                     padLeft(std::to_string(tenant.throttled_permille / 10) + "%", 5) +
                     padLeft(countWord(tenant.waits), 7) +
                     padLeft(countWord(tenant.grants_per_s), 8) +
                     padLeft(tenant.longest_us == 0 ? "-" : timeWord(tenant.longest_us), 8);
  for (std::size_t i = 0; i < columns.extras; ++i)
    text += padLeft(kExtras[i].cell(tenant), kExtras[i].width);
  return text;
}

// The device time that it is entitled to: its weight, or its cap if that is less.
unsigned promisedPercent(const agent::TenantView& tenant, const agent::ShareView& share) {
  const bool capped = tenant.cores_policy == "cap" && share.cores != 0;
  return capped ? std::min(tenant.weight, share.cores) : tenant.weight;
}

void paintTenant(Painter& painter, const agent::TenantView& tenant, const Columns& columns) {
  bool first = true;
  for (const agent::ShareView& share : tenant.shares) {
    const auto got = static_cast<std::uint64_t>(std::max(share.got_permille, 0));
    const std::string name = tenant.name.empty() ? tenant.id : tenant.name;
    const std::string asked = share.cores == 0 ? "-" : std::to_string(share.cores) + "%";
    painter.barLine(
        padRight(first ? name : "", columns.name) + padLeft(std::to_string(share.device), 4) + " ",
        painter.bar(got, 10ull * promisedPercent(tenant, share), 1000, columns.bar),
        tenant.throttled_permille / 10,
        padLeft(permilleWord(share.got_permille), 6) + padLeft(asked, 6) +
            (first ? figuresOf(tenant, columns) : ""));
    first = false;
  }
}

}  // namespace

void paintCompute(Painter& painter, const agent::Snapshot& node) {
  const Columns columns = columnsFor(painter.columns());
  paintHeading(painter, columns);
  for (const agent::TenantView& tenant : node.tenants) {
    paintTenant(painter, tenant, columns);
    for (const std::string& reason : whySlow(tenant, node)) painter.line("  " + reason, kDim);
  }
}

}  // namespace divvy::cli
