#include "api/console_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace divvy::console {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ConsoleMetrics, Figures_OneFamilyEach) {
  ConsoleHealth health;
  health.sessions = 3;
  health.streams = 2;
  health.sources = 7;
  health.failing_sources = 1;
  health.data_age_s = 1.5;
  health.loop_late_s = 0.25;
  health.history.size = {4096};
  health.history.series = 12;
  health.history.late_samples = 4;
  health.history.dropped_rows = 5;
  const std::string text = consoleMetrics(health);
  for (const char* line :
       {"divvy_console_sessions 3\n", "divvy_console_streams 2\n", "divvy_console_sources 7\n",
        "divvy_console_failing_sources 1\n", "divvy_console_data_age_seconds 1.5\n",
        "divvy_console_loop_lateness_seconds 0.25\n", "divvy_console_history_writing 1\n",
        "divvy_console_history_bytes 4096\n", "divvy_console_history_series 12\n",
        "divvy_console_history_dropped_total 9\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(ConsoleMetrics, UnknownFigures_AreAbsent) {
  const std::string text = consoleMetrics({});
  EXPECT_THAT(text, Not(HasSubstr("data_age")));
  EXPECT_THAT(text, Not(HasSubstr("lateness")));
  ConsoleHealth full;
  full.history.state = history::WriteState::kDiskFull;
  EXPECT_THAT(consoleMetrics(full), HasSubstr("divvy_console_history_writing 0\n"));
}

}  // namespace
}  // namespace divvy::console
