#include "view/overview_parts.h"

#include <algorithm>
#include <utility>

#include <boost/json.hpp>

namespace divvy::console {
namespace {

namespace bj = boost::json;

constexpr const char* kSeverities[] = {"critical", "warning", "info"};

}  // namespace

void Attention::add(const char* severity, const char* code, const std::string& text,
                    const std::string& link) {
  auto kind = std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& known) {
    return known.code == code && known.severity == severity;
  });
  if (kind == kinds_.end()) kind = kinds_.insert(kind, {severity, code, 0, {}, {}});
  kind->list = link.substr(0, link.find('/'));
  if (++kind->count > kMaxOfCode) return;
  kind->items.push_back(
      bj::object{{"severity", severity}, {"code", code}, {"text", text}, {"link", link}});
}

bj::array Attention::take() {
  bj::array all;
  for (const char* severity : kSeverities)
    for (Kind& kind : kinds_) {
      if (kind.severity != severity) continue;
      for (bj::value& item : kind.items) all.push_back(std::move(item));
      if (kind.count > kMaxOfCode)
        all.push_back(bj::object{{"severity", severity},
                                 {"code", kind.code},
                                 {"text", std::to_string(kind.count - kMaxOfCode) + " more"},
                                 {"link", kind.list}});
    }
  kinds_.clear();
  return all;
}

}  // namespace divvy::console
