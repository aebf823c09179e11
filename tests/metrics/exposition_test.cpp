// The text that Prometheus reads.
#include <gtest/gtest.h>

#include <limits>

#include "metrics/exposition.h"

namespace divvy::metrics {
namespace {

TEST(Exposition, Families_NamedOnceValuesEscaped) {
  Exposition out;
  out.family("a_total", "counter", "What\nit \\ is");
  out.sample({}, std::uint64_t{18446744073709551615u});
  out.sample({{"x", "say \"hi\"\n\\"}, {"y", ""}}, 0.1);
  out.family("b", "gauge", "");
  out.sample({{"x", "1"}}, std::numeric_limits<double>::infinity());
  out.sample({{"x", "2"}}, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(out.text(),
            "# HELP a_total What\\nit \\\\ is\n# TYPE a_total counter\n"
            "a_total 18446744073709551615\n"
            "a_total{x=\"say \\\"hi\\\"\\n\\\\\",y=\"\"} 0.1\n"
            "# HELP b \n# TYPE b gauge\nb{x=\"1\"} +Inf\nb{x=\"2\"} NaN\n");
}

TEST(Exposition, DeprecatedNames_RenamedFamiliesWrittenTwice) {
  const auto write = [](Exposition out) {
    out.family("divvy_device_unmanaged_use", "gauge", "Use");
    out.sample({{"node", "n"}, {"device", "a"}}, std::uint64_t{1});
    out.sample({{"node", "n"}, {"device", "b"}}, 0.5);
    out.family("divvy_tenant_info", "gauge", "Info");
    out.sample({}, std::uint64_t{1});
    return out.text();
  };
  const std::string present =
      "# HELP divvy_device_unmanaged_use Use\n# TYPE divvy_device_unmanaged_use gauge\n"
      "divvy_device_unmanaged_use{node=\"n\",device=\"a\"} 1\n"
      "divvy_device_unmanaged_use{node=\"n\",device=\"b\"} 0.5\n"
      "# HELP divvy_tenant_info Info\n# TYPE divvy_tenant_info gauge\ndivvy_tenant_info 1\n";
  EXPECT_EQ(write(Exposition()), present);
  EXPECT_EQ(write(Exposition(true)),
            present +
                "# HELP divvy_card_occupied Deprecated, use divvy_device_unmanaged_use\n"
                "# TYPE divvy_card_occupied gauge\n"
                "divvy_card_occupied{device=\"a\"} 1\ndivvy_card_occupied{device=\"b\"} 0.5\n");
}

// Prometheus knows a series by its labels: one more label would end the series at an upgrade.
TEST(Exposition, OldNameWithOneLabel_HasNoneOfAddedOnes) {
  Exposition out(true);
  out.family("divvy_device_excluded", "gauge", "");
  out.sample({{"node", "n"}}, std::uint64_t{1});
  out.family("divvy_device_schedulable", "gauge", "");
  out.sample({{"node", "n"}, {"device", "a"}}, std::uint64_t{1});
  const std::string text = out.text();
  EXPECT_NE(text.find("\ndivvy_card_excluded 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\ndivvy_device_healthy{node=\"n\",device=\"a\"} 1\n"), std::string::npos)
      << text;
}

TEST(Exposition, Histogram_BucketsAreCumulative) {
  Histogram took;
  for (const double seconds : {0.00005, 0.0007, 0.0007, 100.0}) took.add(seconds);
  Exposition out;
  out.histogram("t_seconds", "How long", took);
  const std::string text = out.text();
  for (const char* line : {"# TYPE t_seconds histogram\n", "t_seconds_bucket{le=\"5e-05\"} 1\n",
                           "t_seconds_bucket{le=\"5e-04\"} 1\n",
                           "t_seconds_bucket{le=\"0.001\"} 3\n", "t_seconds_bucket{le=\"5\"} 3\n",
                           "t_seconds_bucket{le=\"+Inf\"} 4\n", "t_seconds_count 4\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

}  // namespace
}  // namespace divvy::metrics
