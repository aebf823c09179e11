#include "report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

namespace divvy::bench {
namespace {

std::string number(double value) {
  if (std::isnan(value)) return "null";
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

// The figures themselves, nested by group in the order of first appearance.
std::string figuresOf(const Report& report) {
  std::string text;
  std::vector<std::string> groups;
  for (const Figure& figure : report.figures) {
    if (figure.group.empty()) {
      text += "  " + quoted(figure.key) + ": " + number(figure.value) + ",\n";
    } else if (std::find(groups.begin(), groups.end(), figure.group) == groups.end()) {
      groups.push_back(figure.group);
    }
  }
  for (const std::string& group : groups) {
    std::string members;
    for (const Figure& figure : report.figures) {
      if (figure.group != group) continue;
      members += (members.empty() ? "\n    " : ",\n    ") + quoted(figure.key) + ": " +
                 number(figure.value);
    }
    text += "  " + quoted(group) + ": {" + members + "\n  },\n";
  }
  return text;
}

}  // namespace

bool Figure::passed() const {
  return !std::isnan(value) && (!bar || value <= *bar);
}

bool Report::passed() const {
  return std::all_of(figures.begin(), figures.end(), [](const Figure& f) { return f.passed(); });
}

std::string table(const Report& report) {
  std::string text = report.date + "  " + report.driver + "\n" + report.host + "\n\n";
  char line[160];
  std::snprintf(line, sizeof line, "%-36s %9s %9s %9s %7s  %s\n", "figure", "bare", "divvy",
                "added", "bar", "");
  text += line;
  for (const Figure& figure : report.figures) {
    const char* verdict = figure.bar ? (figure.passed() ? "pass" : "MISS") : "";
    std::snprintf(line, sizeof line, "%-36s %9s %9s %9.2f %7s  %s\n", pathOf(figure).c_str(),
                  cell(figure.bare, "").c_str(), cell(figure.divvied, "").c_str(), figure.value,
                  cell(figure.bar, "-").c_str(), verdict);
    text += line;
  }
  return text;
}

std::string json(const Report& report) {
  const Field bars = [](const Figure& f) { return f.bar; };
  const Field bare = [](const Figure& f) { return f.bare; };
  const Field divvied = [](const Figure& f) { return f.divvied; };
  return "{\n  \"date\": " + quoted(report.date) + ",\n  \"driver\": " + quoted(report.driver) +
         ",\n  \"host\": " + quoted(report.host) + ",\n" + figuresOf(report) +
         "  \"bars\": " + objectOf(report, bars) + ",\n  \"bare\": " + objectOf(report, bare) +
         ",\n  \"divvied\": " + objectOf(report, divvied) +
         ",\n  \"passed\": " + (report.passed() ? "true" : "false") + "\n}\n";
}

}  // namespace divvy::bench
