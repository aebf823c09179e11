// Parts of the overview that a machine and a cluster have in common. Pure. Private.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <boost/json/array.hpp>

namespace divvy::console {

// Findings, the severest first.
class Attention {
 public:
  // Findings of one code that are listed; the others are counted.
  static constexpr std::size_t kMaxOfCode = 20;

  // `severity`: critical, warning or info. `link`: a page; empty: none.
  void add(const char* severity, const char* code, const std::string& text,
           const std::string& link);

  // Returns the findings. A code with more than kMaxOfCode ends with the number of the others and a
  // link to their list.
  boost::json::array take();

 private:
  struct Kind {
    std::string severity, code;
    std::size_t count = 0;
    std::string list;  // page of the last one's list
    boost::json::array items;
  };

  std::vector<Kind> kinds_;  // in the order of their first findings
};

}  // namespace divvy::console
