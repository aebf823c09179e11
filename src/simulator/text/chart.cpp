#include "simulator/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "text/format.h"

namespace divvy::simulator {
namespace {

constexpr double kWidth = 860, kLeft = 66, kPlot = 590, kTall = 250;
constexpr double kHead = 40, kAbove = 34, kBelow = 56;
constexpr double kLegend = kLeft + kPlot + 16;
constexpr std::size_t kLooks = 8;
constexpr int kTicks = 6;

// Told apart by colour-blind people too; the second of each is for dark pages.
constexpr std::array<std::pair<const char*, const char*>, kLooks> kColours{{
    {"#0063a5", "#5db2f0"},
    {"#b84300", "#ff9255"},
    {"#007a55", "#35c493"},
    {"#8f3a84", "#e08fd3"},
    {"#6b5b00", "#d9c64a"},
    {"#a31515", "#ff7f7f"},
    {"#3d4f5c", "#a9bcc9"},
    {"#4b3fb5", "#a69cff"},
}};
constexpr std::array<const char*, kLooks> kDashes{"",     "7 3", "2 3", "9 3 2 3",
                                                  "12 4", "4 2", "1 2", "6 2 1 2 1 2"};

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&apos;";
        break;
      default:
        result += c >= ' ' && c < 0x7f ? c : '?';
    }
  }
  return result;
}

std::string place(double value) {
  return number(value, 1);
}

// As short as can be: "0.5", "100".
std::string tickWord(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value == 0 ? 0 : value);
  return text.data();
}

std::string styles() {
  std::string light, dark;
  for (std::size_t i = 0; i < kLooks; ++i) {
    const std::string name = ".l" + std::to_string(i);
    light += name + "{stroke:" + kColours[i].first;
    light += *kDashes[i] == 0 ? "}" : std::string(";stroke-dasharray:") + kDashes[i] + "}";
    dark += name + "{stroke:" + kColours[i].second + "}";
  }
  return "<style>text{font:11px 'DejaVu Sans',Verdana,sans-serif;fill:#222}.head{font-size:14px;"
         "font-weight:bold}.end{text-anchor:end}.mid{text-anchor:middle}.back{fill:#fff}"
         "polyline,line{fill:none}.grid{stroke:#ddd}.axis{stroke:#222}"
         ".line{stroke-width:2;stroke-linejoin:round}" +
         light +
         "@media (prefers-color-scheme:dark){text{fill:#e6e6e6}.back{fill:#16181c}"
         ".grid{stroke:#3a3e45}.axis{stroke:#b0b4ba}" +
         dark + "}</style>\n";
}

std::string text(double x, double y, const std::string& look, const std::string& words) {
  return "<text x='" + place(x) + "' y='" + place(y) + "'" +
         (look.empty() ? "" : " class='" + look + "'") + ">" + escaped(words) + "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2, const std::string& look) {
  return "<line x1='" + place(x1) + "' y1='" + place(y1) + "' x2='" + place(x2) + "' y2='" +
         place(y2) + "' class='" + look + "'/>\n";
}

// From round number to round number.
struct Scale {
  double low = 0, high = 1, step = 1;

  Scale(double least, double most) {
    if (!(most > least)) most = least + 1;
    const double raw = (most - least) / kTicks;
    step = std::pow(10, std::floor(std::log10(raw)));
    for (const double factor : {2.0, 2.5, 2.0}) {  // to 2, 5 and 10 times it
      if (step < raw * 0.999999) step *= factor;
    }
    low = std::floor(least / step + 1e-9) * step;
    high = std::ceil(most / step - 1e-9) * step;
  }
  double part(double value) const { return (value - low) / (high - low); }
};

bool drawable(const std::pair<double, double>& point) {
  return std::isfinite(point.first) && std::isfinite(point.second);
}

class Drawing {
 public:
  Drawing(const Panel& panel, double top) : panel_(panel), top_(top), bottom_(top + kTall) {
    double left = INFINITY, right = -INFINITY, low = INFINITY, high = -INFINITY;
    for (const Line& one : panel.lines) {
      for (const auto& point : one.points) {
        if (!drawable(point)) continue;
        left = std::min(left, point.first);
        right = std::max(right, point.first);
        low = std::min(low, point.second);
        high = std::max(high, point.second);
      }
    }
    if (left > right) left = low = 0, right = high = 1;
    across_ = Scale(left, right);
    up_ = Scale(panel.low ? std::min(*panel.low, low) : low, high);
  }

  std::string text() const {
    std::string out = simulator::text(kLeft, top_ - 14, "head", panel_.title) + axes();
    for (std::size_t i = 0; i < panel_.lines.size(); ++i) out += lineOf(i);
    return out;
  }

 private:
  double x(double value) const { return kLeft + across_.part(value) * kPlot; }
  double y(double value) const { return bottom_ - up_.part(value) * kTall; }

  std::string axes() const {
    std::string out;
    for (double at = up_.low; at <= up_.high + up_.step / 2; at += up_.step) {
      out += line(kLeft, y(at), kLeft + kPlot, y(at), at == up_.low ? "axis" : "grid");
      out += simulator::text(kLeft - 6, y(at) + 4, "end", tickWord(at));
    }
    for (double at = across_.low; at <= across_.high + across_.step / 2; at += across_.step) {
      out += line(x(at), bottom_, x(at), bottom_ + 5, "axis");
      out += simulator::text(x(at), bottom_ + 18, "mid", tickWord(at));
    }
    out += line(kLeft, top_, kLeft, bottom_, "axis");
    out += simulator::text(kLeft + kPlot / 2, bottom_ + 36, "mid", panel_.across);
    // Turned, in the margin.
    const std::string turn = place(top_ + kTall / 2);
    return out + "<text transform='translate(16 " + turn + ") rotate(-90)' class='mid'>" +
           escaped(panel_.up) + "</text>\n";
  }

  std::string lineOf(std::size_t i) const {
    const std::string look = "line l" + std::to_string(i % kLooks);
    const Line& one = panel_.lines[i];
    std::string points;
    for (const auto& point : one.points) {
      if (!drawable(point)) continue;
      points += (points.empty() ? "" : " ") + place(x(point.first)) + "," + place(y(point.second));
    }
    const double at = top_ + 8 + 18 * static_cast<double>(i);
    return "<polyline class='" + look + "' points='" + points + "'><title>" + escaped(one.name) +
           "</title></polyline>\n" + line(kLegend, at, kLegend + 30, at, look) +
           simulator::text(kLegend + 37, at + 4, "", one.name);
  }

  const Panel& panel_;
  double top_, bottom_;
  Scale across_{0, 1}, up_{0, 1};
};

}  // namespace

std::string svg(const std::string& title, const std::vector<Panel>& panels) {
  std::string body;
  double top = kHead;
  for (const Panel& panel : panels) {
    const double legend = 18 * static_cast<double>(panel.lines.size());
    body += Drawing(panel, top + kAbove).text();
    top += kAbove + std::max(kTall, legend) + kBelow;
  }
  const std::string size = tickWord(kWidth) + "' height='" + tickWord(top);
  return "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " + tickWord(kWidth) + " " +
         tickWord(top) + "' width='" + size + "' role='img'>\n<title>" + escaped(title) +
         "</title>\n" + styles() + "<rect class='back' width='" + size + "'/>\n" +
         text(kLeft, 24, "head", title) + body + "</svg>\n";
}

}  // namespace divvy::simulator
