// Pure text: tables, the picture of top, numbers and times.
#include <gtest/gtest.h>

#include "options/options.h"
#include "view/table.h"
#include "view/top_view.h"

namespace divvy::cli {
namespace {

agent::Snapshot busyNode(std::size_t tenants) {
  agent::Snapshot node;
  node.node = "sim-h100x8";
  node.driver = "620.40";
  for (unsigned i = 0; i < 8; ++i) {
    agent::DeviceView device;
    device.index = i;
    device.model = "NVIDIA A very long model name that no card has yet 80GB HBM3";
    device.physical = gib(80).count;
    device.allocated = gib(60).count + 12345;
    device.used = gib(33).count + 999999;
    device.utilisation = 100;
    device.tenants = 12;
    node.devices.push_back(device);
  }
  for (std::size_t i = 0; i < tenants; ++i) {
    agent::TenantView tenant;
    tenant.id = "abc234";
    tenant.name = "a-name-that-is-really-much-longer-than-any-column";
    tenant.state = "orphaned";
    tenant.pid = 4194304;
    tenant.mode = "best-effort";
    tenant.weight = 100;
    tenant.throttled_permille = 1000;
    tenant.waits = 999999;
    tenant.grants_per_s = 99999;
    tenant.longest_us = 119900000;
    tenant.shares.push_back(
        {7, "GPU-x", gib(79).count + 1, gib(33).count + 999999, 100, 100, 1000});
    node.tenants.push_back(tenant);
  }
  node.queue.push_back(
      {4194304, "batch", "100%", 8, "100% asked: 0 of 8 devices fit; and more words than fit"});
  return node;
}

// Escape sequences have no width.
std::string withoutEscapes(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (text[i] != 'm') ++i;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

TEST(TopView, AnyWidth_NoLineWiderThanTerminal) {
  for (const std::size_t columns : {20u, 40u, 79u, 80u, 120u, 300u}) {
    for (const bool fancy : {false, true}) {
      for (const std::string& line :
           drawTop({busyNode(3)}, {{columns, 0}, fancy, fancy, "12:00:00"})) {
        EXPECT_LE(columnsOf(withoutEscapes(line)), columns) << line;
      }
    }
  }
}

TEST(TopView, EightyColumns_FiguresShown) {
  const std::vector<std::string> lines = drawTop({busyNode(1)}, {{80, 0}, false, false, ""});
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  for (const char* figure : {"util 100%", "used 33.0GiB", "allocated 60.0GiB", "of 80GiB", "abc234",
                             "4194304", "79.0GiB"}) {
    EXPECT_NE(all.find(figure), std::string::npos) << figure << "\n" << all;
  }
}

TEST(TopView, ManyTenants_NotHigherThanTerminal) {
  const std::vector<std::string> lines = drawTop({busyNode(100)}, {{80, 24}, false, false, ""});
  ASSERT_EQ(lines.size(), 24u);
  EXPECT_NE(lines.back().find("lines more"), std::string::npos);
}

TEST(TopView, NoAgent_SaidInFirstLine) {
  EXPECT_EQ(drawTop({}, {{80, 24}, false, false, ""}).at(0), "no agent is running: no shares");
}

TEST(TopView, EscapesInCommand_NotPrinted) {
  agent::Snapshot node = busyNode(1);
  node.tenants[0].name.clear();
  node.tenants[0].command = {"\x1b[2J\nevil"};
  for (const std::string& line : drawTop({node}, {{200, 0}, false, false, ""})) {
    EXPECT_EQ(line.find_first_of("\x1b\n"), std::string::npos) << line;
  }
}

TEST(Table, Columns_AlignedAndCut) {
  Table table({"NAME", "SIZE>", "REST"});
  table.add({"a", "1GiB", "something long"});
  table.add({"bcd", "", "x"});
  EXPECT_EQ(table.text(true, 0), "NAME  SIZE  REST\na     1GiB  something long\nbcd      -  x\n");
  EXPECT_EQ(table.text(false, 16), "a    1GiB  some~\nbcd     -  x\n");
}

TEST(Table, NarrowWidth_OnlyLastColumnCut) {
  Table table({"NAME", "TENANTS>", "REST"});
  table.add({"a long name", "1", "something long"});
  EXPECT_EQ(table.text(true, 10), "NAME         TENANTS  REST\na long name        1  som~\n");
}

TEST(Table, OptionalColumns_LeftOutUntilItFits) {
  Table table({"ID", "?SAME", "?NONE", "?MODE", "REST"});
  table.add({"a", "x", "", "share", "something long"});
  EXPECT_EQ(table.text(true, 0),
            "ID  SAME  NONE  MODE   REST\na   x     -     share  something long\n");
  EXPECT_EQ(table.text(true, 22), "ID  SAME  MODE   REST\na   x     share  some~\n");
  EXPECT_EQ(table.text(true, 20), "ID  MODE   REST\na   share  somethin~\n");
  EXPECT_EQ(table.text(false, 9), "a  somet~\n");
}

TEST(Table, MultibyteText_CutBetweenCharacters) {
  EXPECT_EQ(cut("äöü", 3), "äöü");
  EXPECT_EQ(cut("äöüß", 3), "äö~");
  EXPECT_EQ(columnsOf("äöü"), 3u);
}

TEST(Format, SizesAndAges_OneWord) {
  EXPECT_EQ(sizeWord(gib(4).count), "4GiB");
  EXPECT_EQ(sizeWord(0), "0B");
  EXPECT_EQ(ageWord(59), "59s");
  EXPECT_EQ(ageWord(3600), "60m");
  EXPECT_EQ(ageWord(90000), "25h");
  EXPECT_EQ(ageWord(-5), "0s");
}

TEST(Format, TimesAndCounts_Short) {
  EXPECT_EQ(timeWord(0), "0us");
  EXPECT_EQ(timeWord(999), "999us");
  EXPECT_EQ(timeWord(1234), "1.2ms");
  EXPECT_EQ(timeWord(20000), "20ms");
  EXPECT_EQ(timeWord(180499), "180ms");
  EXPECT_EQ(timeWord(12340000), "12.3s");
  EXPECT_EQ(timeWord(3600000000), "60m");
  EXPECT_EQ(countWord(999), "999");
  EXPECT_EQ(countWord(12345), "12.3k");
  EXPECT_EQ(countWord(999999), "999k");
  EXPECT_EQ(countWord(4500000), "4.5M");
  EXPECT_EQ(countWord(7000000000), "7G");
}

TEST(ParseCores, AnyGpuCount_RangeForAllTogether) {
  EXPECT_EQ(*parseCores("30", 1), 30u);
  EXPECT_EQ(*parseCores("30%", 1), 30u);
  EXPECT_EQ(*parseCores("200", 2), 200u);
  EXPECT_EQ(*parseCores("1600", 0), 1600u);
  for (const char* text : {"", "%", "0", "-1", "+5", "1.5", "30%%", "x", "101", "4294967297"})
    EXPECT_FALSE(parseCores(text, 1)) << text;
  EXPECT_EQ(parseCores("201", 2).error().message(),
            "--cores \"201\" is not accepted for 2 GPUs; a whole number from 2 to 200 (1 to 100 of "
            "each) is");
  EXPECT_EQ(parseCores("1", 2).error().message(),
            "--cores \"1\" is not accepted for 2 GPUs; a whole number from 2 to 200 (1 to 100 of "
            "each) is");
  EXPECT_EQ(parseCores("0", 0).error().message(),
            "--cores \"0\" is not accepted; a whole number from 1 to 100 for each GPU is");
}

TEST(ParseDuration, Units_ReadAndOthersRefused) {
  EXPECT_EQ(*parseDurationMs("500ms"), 500u);
  EXPECT_EQ(*parseDurationMs("30s"), 30000u);
  EXPECT_EQ(*parseDurationMs("2"), 2000u);
  EXPECT_EQ(*parseDurationMs("5m"), 300000u);
  EXPECT_EQ(*parseDurationMs("1h"), 3600000u);
  for (const char* text :
       {"", "0", "-1s", "1d", "s", "1.5s", " 1s", "99999999999999999999s", "9000h5"}) {
    EXPECT_FALSE(parseDurationMs(text)) << text;
  }
}

TEST(ParseCount, OutOfRange_Refused) {
  EXPECT_EQ(*parseCount("16", "--gpus", 1, 16), 16u);
  for (const char* text : {"", "0", "17", "-1", "1x", "1.0"})
    EXPECT_FALSE(parseCount(text, "--gpus", 1, 16)) << text;
}

}  // namespace
}  // namespace divvy::cli
