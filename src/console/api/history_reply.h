// Answers from the history, for what a viewer may see.
#pragma once

#include <memory>
#include <string>

#include "console/prices.h"
#include "console/viewer.h"
#include "history/store.h"
#include "http/answer.h"
#include "http/query.h"
#include "view/console_view.h"

namespace divvy::console {

// The history, and the part of it that a viewer may see.
struct HistoryPart {
  const history::Store& history;
  const PriceTable& prices;
  std::string place;  // name of the cluster or machine
  ViewerScope scope;
  std::shared_ptr<const ConsoleView> view;  // the viewer's present one
  bool of_cluster = false;
};

using HistoryAnswer = http::Answer (*)(const HistoryPart& part, const http::Query& query);

// GET /series. 403: the viewer may not see the subject.
http::Answer seriesAnswer(const HistoryPart& part, const http::Query& query);
// GET /usage and /usage.csv: sums over the shares that the viewer may see. They read all rows of
// their time, for up to 20 s.
http::Answer usageAnswer(const HistoryPart& part, const http::Query& query);
http::Answer usageCsv(const HistoryPart& part, const http::Query& query);
// GET /usage.focus.csv: the same by share and day, with the columns of FOCUS. 400: no prices.
http::Answer usageFocusCsv(const HistoryPart& part, const http::Query& query);
// GET /rightsize and /rightsize.csv: advice for the workloads of the viewer's shares. They take up
// to 20 s.
http::Answer rightSizeAnswer(const HistoryPart& part, const http::Query& query);
http::Answer rightSizeCsv(const HistoryPart& part, const http::Query& query);

}  // namespace divvy::console
