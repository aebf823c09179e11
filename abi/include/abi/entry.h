// What the generated tables are made of, and the searches over them. No library is called: the
// interposer uses this inside other people's processes.
#pragma once

#include <cstdint>

#include "abi/classes.h"

namespace divvy::abi {

// Which default stream an entry point means: the legacy one, or with _ptds (calls without a
// stream) and _ptsz (calls that take one) the calling thread's.
enum class StreamMode : std::uint8_t { kPlain, kPtds, kPtsz };

// Names lie in the tables themselves: a pointer to one would have to be relocated, and its page
// copied, in every process that loads the library.
inline constexpr unsigned kNameRoom = 56;

// One exported function. `family` is the place of its unversioned name in the table of families;
// `since` is the CUDA version (12040 is 12.4) in which this version of the name appeared, 0 if
// unknown; `wrapped` says that the interposer has a body for it.
struct Entry {
  char symbol[kNameRoom];
  std::uint16_t family;
  std::uint16_t since;
  StreamMode mode;
  Class cls;
  bool wrapped;
};

// One version of a name, as cuGetProcAddress chooses between them: the newest `since` not above
// the version asked for. It can differ from the entry's own since (`also` lines of the list).
template <class Id>
struct FamilyMember {
  Id id;
  std::uint16_t since;
  StreamMode mode;
};

// All versions of one name: members [first, first + count) of the member table.
struct Family {
  char base[kNameRoom];
  std::uint16_t first;
  std::uint16_t count;
};

constexpr int compareNames(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return static_cast<unsigned char>(*a) - static_cast<unsigned char>(*b);
}

template <unsigned n>
constexpr const Family* findFamily(const Family (&families)[n], const char* base) {
  unsigned low = 0;
  unsigned high = n;
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    const int order = compareNames(families[middle].base, base);
    if (order == 0) return &families[middle];
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return nullptr;
}

template <class Id, unsigned n>
constexpr Id findSymbol(const Entry (&entries)[n], const Id (&by_symbol)[n], const char* symbol) {
  unsigned low = 0;
  unsigned high = n;
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    const int order =
        compareNames(entries[static_cast<unsigned>(by_symbol[middle])].symbol, symbol);
    if (order == 0) return by_symbol[middle];
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return Id::kCount;
}

}  // namespace divvy::abi
