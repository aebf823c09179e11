#include "report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "base/rfc3339.h"

namespace divvy::bench {
namespace {

std::string number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

std::string cell(std::optional<double> value, const char* none) {
  if (!value) return none;
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", *value);
  return text;
}

std::string pathOf(const Figure& figure) {
  return figure.group.empty() ? figure.key : figure.group + "/" + figure.key;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) result += c;
  }
  return result + '"';
}

using Field = std::function<std::optional<double>(const Figure&)>;

// "PATH": value for every figure that has the field, as one object.
std::string objectOf(const Report& report, const Field& field) {
  std::string text;
  for (const Figure& figure : report.figures) {
    const std::optional<double> value = field(figure);
    if (!value) continue;
    text += (text.empty() ? "\n    " : ",\n    ") + quoted(pathOf(figure)) + ": " + number(*value);
  }
  return "{" + text + "\n  }";
}

// Objects within objects, in the order of first appearance.
struct Branch {
  std::string key;
  std::string value;  // of a leaf
  std::vector<Branch> members;
};

Branch& memberOf(Branch& branch, const std::string& key) {
  for (Branch& member : branch.members) {
    if (member.key == key) return member;
  }
  return branch.members.emplace_back(Branch{key, "", {}});
}

std::string written(const Branch& branch, int depth) {
  if (branch.members.empty()) return branch.value;
  const std::string indent(static_cast<std::size_t>(2 * depth + 2), ' ');
  std::string text;
  for (const Branch& member : branch.members) {
    text += (text.empty() ? "\n" : ",\n") + indent + quoted(member.key) + ": " +
            written(member, depth + 1);
  }
  return "{" + text + "\n" + indent.substr(2) + "}";
}

Branch figuresOf(const Report& report) {
  Branch root;
  for (const Figure& figure : report.figures) {
    Branch* at = &root;
    std::istringstream groups(figure.group);
    for (std::string group; std::getline(groups, group, '/');) at = &memberOf(*at, group);
    memberOf(*at, figure.key).value = number(figure.value);
  }
  return root;
}

bool any(const Report& report, const Field& field) {
  return std::any_of(report.figures.begin(), report.figures.end(),
                     [&](const Figure& figure) { return field(figure).has_value(); });
}

}  // namespace

bool Figure::passed() const {
  if (std::isnan(value)) return detail && !bar;
  return !bar || (at_least ? value >= *bar : value <= *bar);
}

bool Report::passed() const {
  return std::all_of(figures.begin(), figures.end(), [](const Figure& f) { return f.passed(); });
}

std::string table(const Report& report) {
  std::string text = report.date + "  " + report.driver + "\n" + report.host + "\n\n";
  char line[160];
  std::snprintf(line, sizeof line, "%-36s %9s %9s %9s %7s  %s\n", "figure", "bare", "divvy",
                "value", "bar", "");
  text += line;
  for (const Figure& figure : report.figures) {
    if (figure.detail) continue;
    const char* verdict = figure.bar ? (figure.passed() ? "pass" : "MISS") : "";
    std::snprintf(line, sizeof line, "%-36s %9s %9s %9.2f %7s  %s\n", pathOf(figure).c_str(),
                  cell(figure.bare, "").c_str(), cell(figure.divvied, "").c_str(), figure.value,
                  cell(figure.bar, "-").c_str(), verdict);
    text += line;
  }
  return text + (report.notes.empty() ? "" : "\n" + report.notes);
}

std::string json(const Report& report) {
  const Field bars = [](const Figure& f) { return f.bar; };
  const Field bare = [](const Figure& f) { return f.bare; };
  const Field divvied = [](const Figure& f) { return f.divvied; };
  Branch root;
  memberOf(root, "date").value = quoted(report.date);
  memberOf(root, "driver").value = quoted(report.driver);
  memberOf(root, "host").value = quoted(report.host);
  for (Branch& branch : figuresOf(report).members) root.members.push_back(std::move(branch));
  memberOf(root, "bars").value = objectOf(report, bars);
  if (any(report, bare)) memberOf(root, "bare").value = objectOf(report, bare);
  if (any(report, divvied)) memberOf(root, "divvied").value = objectOf(report, divvied);
  memberOf(root, "passed").value = report.passed() ? "true" : "false";
  return written(root, 0) + "\n";
}

std::string today() {
  return formatRfc3339(std::time(nullptr));
}

std::string hostName() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  std::string model = "unknown processor";
  while (std::getline(file, line)) {
    if (line.starts_with("model name")) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  }
  return model + ", " + std::to_string(std::thread::hardware_concurrency()) + " processors";
}

}  // namespace divvy::bench
