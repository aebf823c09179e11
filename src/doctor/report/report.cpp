#include "doctor/report.h"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/json.hpp>

#include "base/rfc3339.h"
#include "doctor/checks.h"
#include "report/format.h"

namespace divvy::doctor {
namespace {

namespace json = boost::json;

constexpr std::array<FindingState, 4> kOrder{FindingState::kFault, FindingState::kWarning,
                                             FindingState::kSkipped, FindingState::kOk};

std::string headingOf(FindingState state, std::size_t count) {
  switch (state) {
    case FindingState::kFault:
      return counted(count, "fault");
    case FindingState::kWarning:
      return counted(count, "warning");
    case FindingState::kSkipped:
      return std::to_string(count) + " skipped";
    case FindingState::kOk:
      break;
  }
  return std::to_string(count) + " ok";
}

// A file name or a kubelet's text may contain control characters, which a terminal must not
// execute.
std::string shown(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return out;
}

std::string linesOf(const Finding& one) {
  std::string text = "  " + one.id + (one.subject.empty() ? "" : " " + shown(one.subject)) + ": " +
                     shown(one.seen) + "\n";
  if (!one.means.empty()) text += "    " + shown(one.means) + "\n";
  if (!one.fix.empty()) text += "    do:  " + shown(one.fix) + "\n";
  if (one.state == FindingState::kFault || one.state == FindingState::kWarning)
    text += "    see: " + pageOf(one.id) + "\n";
  return text;
}

// IDs separated by blanks, wrapped to a terminal's width.
std::string filled(const std::vector<std::string>& ids, const std::string& indent) {
  constexpr std::size_t kWidth = 98;
  std::string text, line = indent;
  for (const std::string& id : ids) {
    if (line.size() > indent.size() && line.size() + 1 + id.size() > kWidth) {
      text += line + "\n";
      line = indent;
    }
    line += (line.size() > indent.size() ? " " : "") + id;
  }
  return text + line + "\n";
}

std::string briefly(const Findings& findings) {
  std::vector<std::string> ids;
  for (const Finding& one : findings)
    if (one.state == FindingState::kOk && (ids.empty() || ids.back() != one.id))
      ids.push_back(one.id);
  return filled(ids, "  ");
}

// Few reasons explain all skipped checks, so each reason is printed once.
std::string skippedText(const Findings& findings) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const Finding& one : findings) {
    if (one.state != FindingState::kSkipped) continue;
    const std::string name = one.id + (one.subject.empty() ? "" : " " + shown(one.subject));
    const auto known = std::find_if(reasons.begin(), reasons.end(),
                                    [&](const auto& reason) { return reason.first == one.seen; });
    if (known == reasons.end()) {
      reasons.push_back({one.seen, {name}});
    } else {
      known->second.push_back(name);
    }
  }
  std::string text;
  for (const auto& [why, names] : reasons)
    text += names.size() == 1 ? "  " + names.front() + ": " + shown(why) + "\n"
                              : "  " + shown(why) + ":\n" + filled(names, "    ");
  return text;
}

// Invalid UTF-8 would make the JSON document invalid.
json::string utf8(const std::string& text) {
  json::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t size = lead < 0x80       ? 1
                             : lead >> 5 == 6  ? 2
                             : lead >> 4 == 14 ? 3
                             : lead >> 3 == 30 ? 4
                                               : 0;
    bool good = size != 0 && at + size <= text.size();
    for (std::size_t i = 1; good && i < size; ++i)
      good = (static_cast<unsigned char>(text[at + i]) & 0xc0u) == 0x80u;
    out.append(good ? json::string_view(text.data() + at, size) : json::string_view("?"));
    at += good ? size : 1;
  }
  return out;
}

json::object jsonOf(const Finding& one) {
  return {{"id", one.id},
          {"scope", nameOf(one.scope)},
          {"state", nameOf(one.state)},
          {"subject", utf8(one.subject)},
          {"seen", utf8(one.seen)},
          {"means", utf8(one.means)},
          {"fix", utf8(one.fix)},
          {"doc", pageOf(one.id)}};
}

}  // namespace

std::string pageOf(const std::string& id) {
  return "docs/operations/doctor.md#" + id;
}

std::string textOf(const Report& report, bool brief) {
  std::string text;
  for (const FindingState state : kOrder) {
    const std::size_t count = countOf(report.findings, state);
    if (count == 0) continue;
    text += (text.empty() ? "" : "\n") + headingOf(state, count) + "\n";
    if (state == FindingState::kOk && brief) {
      text += briefly(report.findings);
      continue;
    }
    if (state == FindingState::kSkipped) {
      text += skippedText(report.findings);
      continue;
    }
    for (const Finding& one : report.findings)
      if (one.state == state) text += linesOf(one);
  }
  return text;
}

std::string jsonOf(const Report& report) {
  json::object counts;
  for (const FindingState state : kOrder) counts[nameOf(state)] = countOf(report.findings, state);
  json::array findings;
  for (const Finding& one : report.findings) findings.push_back(jsonOf(one));
  json::object root{{"form", 1},
                    {"divvy", report.version},
                    {"written", formatRfc3339(report.written_ms / 1000)},
                    {"node", nullptr},
                    {"cluster", nullptr},
                    {"worst", nameOf(worstOf(report.findings))},
                    {"counts", std::move(counts)},
                    {"findings", std::move(findings)}};
  if (!report.root.empty()) root["node"] = json::object{{"root", utf8(report.root)}};
  if (!report.server.empty()) root["cluster"] = json::object{{"server", utf8(report.server)}};
  return json::serialize(root) + "\n";
}

std::string listOf(bool as_json) {
  if (as_json) {
    json::array all;
    for (const Check& one : checks())
      all.push_back(json::object{{"id", one.id},
                                 {"scope", nameOf(one.scope)},
                                 {"asks", one.question},
                                 {"doc", pageOf(one.id)}});
    return json::serialize(all) + "\n";
  }
  std::size_t width = 0;
  for (const Check& one : checks()) width = std::max(width, one.id.size());
  std::string text;
  for (const Check& one : checks())
    text += one.id + std::string(width + 2 - one.id.size(), ' ') +
            (one.scope == FindingScope::kNode ? "node     " : "cluster  ") + one.question + "\n";
  return text;
}

}  // namespace divvy::doctor
