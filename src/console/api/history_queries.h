// Answers from the history.
#pragma once

#include "base/result.h"
#include "history/store.h"
#include "http/query.h"

#include <boost/json/object.hpp>

#include <cstdint>

namespace divvy::console {

// Reads `of`, `what`, `from`, `to` and `points` of the query and returns the series. kUsage: the
// message names the accepted words; errors of the store.
Result<boost::json::object> seriesOf(const history::Store& store, const http::Query& query,
                                     std::int64_t now_ms);

// Returns the state of the history for pages.
boost::json::object historyState(const history::Store& store, bool in_memory);

}  // namespace divvy::console
