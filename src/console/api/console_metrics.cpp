#include "api/console_metrics.h"

#include "metrics/exposition.h"

namespace divvy::console {
namespace {

void gauge(metrics::Exposition& out, const char* name, const char* help, double value) {
  out.family(name, "gauge", help);
  out.sample({}, value);
}

}  // namespace

std::string consoleMetrics(const ConsoleHealth& health) {
  metrics::Exposition out;
  gauge(out, "divvy_console_sessions", "Open sessions", static_cast<double>(health.sessions));
  gauge(out, "divvy_console_streams", "Open event streams", static_cast<double>(health.streams));
  gauge(out, "divvy_console_sources", "Agents, or collections of the API server, that are read",
        static_cast<double>(health.sources));
  gauge(out, "divvy_console_failing_sources", "Part of these that do not answer",
        static_cast<double>(health.failing_sources));
  if (health.data_age_s)
    gauge(out, "divvy_console_data_age_seconds", "Age of the last reading, in seconds",
          *health.data_age_s);
  if (health.loop_late_s)
    gauge(out, "divvy_console_loop_lateness_seconds",
          "Last delay of due work on the console's event loop, in seconds", *health.loop_late_s);
  const history::StoreStatus& store = health.history;
  gauge(out, "divvy_console_history_writing", "1: the history is written",
        store.state == history::WriteState::kWriting ? 1 : 0);
  gauge(out, "divvy_console_history_bytes", "Size of the history's file, in bytes",
        static_cast<double>(store.size.count));
  gauge(out, "divvy_console_history_series", "Series of the history",
        static_cast<double>(store.series));
  out.family("divvy_console_history_dropped_total", "counter",
             "Samples and rows that the history did not take");
  out.sample({}, static_cast<std::uint64_t>(store.late_samples + store.future_samples +
                                            store.unknown_samples + store.dropped_rows));
  return out.text();
}

}  // namespace divvy::console
