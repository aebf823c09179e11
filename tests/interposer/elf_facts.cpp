#include "elf_facts.h"

#include <gtest/gtest.h>
#include <stdio.h>

#include <algorithm>
#include <sstream>

namespace divvy::interposer::test {
namespace {

std::vector<std::string> linesOf(const std::string& command) {
  std::vector<std::string> lines;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return lines;
  std::string line;
  for (int c = ::fgetc(pipe); c != EOF; c = ::fgetc(pipe)) {
    if (c != '\n') {
      line.push_back(static_cast<char>(c));
      continue;
    }
    lines.push_back(line);
    line.clear();
  }
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return lines;
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> found;
  for (std::string word; stream >> word;) found.push_back(word);
  return found;
}

std::string bracketed(const std::string& line) {
  const size_t open = line.find('[');
  const size_t close = line.find(']', open);
  return open == std::string::npos ? "" : line.substr(open + 1, close - open - 1);
}

void readDynamic(const std::string& path, ElfFacts& facts) {
  for (const std::string& line : linesOf("readelf -dW '" + path + "'")) {
    if (line.find("(NEEDED)") != std::string::npos) facts.needed.insert(bracketed(line));
    if (line.find("(SONAME)") != std::string::npos) facts.soname = bracketed(line);
    if (line.find("TEXTREL") != std::string::npos) facts.text_relocations.insert(line);
    if (line.find("BIND_NOW") != std::string::npos) facts.binds_now = true;
    if (line.find("FLAGS_1") != std::string::npos && line.find("NOW") != std::string::npos) {
      facts.binds_now = true;
    }
    const std::vector<std::string> all = words(line);
    if (line.find("(INIT_ARRAYSZ)") != std::string::npos && all.size() > 2) {
      facts.constructors = static_cast<unsigned>(std::stoul(all[2])) / 8;
    }
  }
}

void readSegments(const std::string& path, ElfFacts& facts) {
  for (const std::string& line : linesOf("readelf -lW '" + path + "'")) {
    const std::vector<std::string> all = words(line);
    if (all.empty()) continue;
    if (all[0] == "GNU_STACK") facts.executable_stack = line.find("RWE") != std::string::npos;
    if (all[0] == "GNU_RELRO") facts.relro = true;
  }
}

void readSymbols(const std::string& path, ElfFacts& facts) {
  for (const std::string& line : linesOf("nm -D '" + path + "'")) {
    const std::vector<std::string> all = words(line);
    if (all.size() == 3) facts.exports.insert(all[2]);  // address, kind, name
    if (all.size() != 2) continue;                      // kind, name: undefined
    const size_t at = all[1].find('@');
    if (at != std::string::npos) facts.glibc_versions.insert(all[1].substr(at + 1));
  }
}

}  // namespace

std::pair<int, int> ElfFacts::glibcFloor() const {
  std::pair<int, int> highest{0, 0};
  for (const std::string& version : glibc_versions) {
    std::pair<int, int> number{99, 99};  // anything but GLIBC_x.y is too new
    ::sscanf(version.c_str(), "GLIBC_%d.%d", &number.first, &number.second);
    highest = std::max(highest, number);
  }
  return highest;
}

ElfFacts readElf(const std::string& path) {
  ElfFacts facts;
  readDynamic(path, facts);
  readSegments(path, facts);
  readSymbols(path, facts);
  return facts;
}

}  // namespace divvy::interposer::test
