#include "config/price_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace divvy::cli {
namespace {

using testing::HasSubstr;

TEST(PriceFile, YamlAndJson_PricesAreExact) {
  for (const std::string text :
       {"currency: EUR\nprices:\n- {model: H100, perHour: 2.90}\n"
        "- {model: RTX 4090, perHour: '0.000001', from: 2026-07-01}\n- {model: A10, perHour: "
        "10000}\n",
        R"({"currency": "EUR", "prices": [{"model": "H100", "perHour": 2.90},
            {"model": "RTX 4090", "perHour": 0.000001, "from": "2026-07-01"},
            {"model": "A10", "perHour": 10000}]})"}) {
    const Result<console::PriceTable> table = parsePrices(text, "prices.yaml");
    ASSERT_TRUE(table) << table.error().message();
    EXPECT_EQ(table->currency, "EUR");
    ASSERT_EQ(table->prices.size(), 3u);
    EXPECT_EQ(table->prices[0].model, "H100");
    EXPECT_EQ(table->prices[0].per_hour_micro, 2'900'000);
    EXPECT_EQ(table->prices[0].from_ms, 0);
    EXPECT_EQ(table->prices[1].per_hour_micro, 1);
    EXPECT_EQ(table->prices[1].from_ms, 1'782'864'000'000);
    EXPECT_EQ(table->prices[2].per_hour_micro, console::kMaxPrice);
  }
}

TEST(PriceFile, BadInput_PlaceAndAcceptedNamed) {
  const auto priced = [](const std::string& price) {
    return "currency: EUR\nprices:\n- " + price + "\n";
  };
  const std::vector<std::pair<std::string, const char*>> cases{
      {"", "p.yaml"},
      {"prices: []", "currency"},
      {"currency: EUR", "prices"},
      {"currency: euro\nprices: []", "p.yaml:1:11: accepted: a code of ISO 4217"},
      {"currency: EUR\nprices: 3", "p.yaml:2:9"},
      {"currency: EUR\nprices: []\nvat: 19", "vat"},
      {priced("{model: H100}"), "perHour"},
      {priced("{perHour: 1}"), "model"},
      {priced("{model: '.', perHour: 1}"), "accepted: whole words of a model's name"},
      {priced("{model: H100, perHour: -1}"), "\"-1\"; accepted: 0 to 10000"},
      {priced("{model: H100, perHour: 1.}"), "\"1.\"; accepted"},
      {priced("{model: H100, perHour: .5}"), "\".5\"; accepted"},
      {priced("{model: H100, perHour: 1.0000001}"), "up to 6 decimals"},
      {priced("{model: H100, perHour: 10000.000001}"), "accepted: 0 to 10000"},
      {priced("{model: H100, perHour: 1e3}"), "\"1e3\"; accepted"},
      {priced("{model: H100, perHour: 1, from: 2026-02-30}"), "accepted: a date"},
      {priced("{model: H100, perHour: 1, from: yesterday}"), "accepted: a date"},
      {priced("{model: H100, perHour: 1, until: 2026-02-03}"), "until"},
  };
  for (const auto& [text, message] : cases) {
    const Result<console::PriceTable> table = parsePrices(text, "p.yaml");
    ASSERT_FALSE(table) << text;
    EXPECT_EQ(table.error().code(), ErrorCode::kUsage) << text;
    EXPECT_THAT(table.error().message(), HasSubstr(message)) << text;
  }
}

TEST(PriceFile, NoSuchFile_NamedWithOption) {
  EXPECT_TRUE(readPriceFile("")->currency.empty());
  const Result<console::PriceTable> table = readPriceFile("/does/not/exist.yaml");
  ASSERT_FALSE(table);
  EXPECT_THAT(table.error().message(), HasSubstr("--prices: "));
}

}  // namespace
}  // namespace divvy::cli
