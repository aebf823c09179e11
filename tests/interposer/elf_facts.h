// What a built library promises to the loader, read from the file with binutils.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace divvy::interposer::test {

struct ElfFacts {
  std::string soname;
  std::set<std::string> exports;           // defined dynamic symbols, with their version if any
  std::set<std::string> needed;            // libraries
  std::set<std::string> glibc_versions;    // versions that undefined symbols ask for
  std::set<std::string> text_relocations;  // dynamic tags that announce them; empty is good
  bool executable_stack = true;
  bool binds_now = false;
  bool relro = false;
  unsigned constructors = 0;  // entries of .init_array

  // The highest GLIBC_x.y asked for, as {x, y}.
  std::pair<int, int> glibcFloor() const;
};

// Needs readelf and nm; a failing test (not a skip) where they are missing.
ElfFacts readElf(const std::string& path);

}  // namespace divvy::interposer::test
