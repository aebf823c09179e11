// Parts of the overview that a machine and a cluster have in common. Pure. Private.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/array.hpp>

#include "view/console_view.h"

namespace divvy::console {

// One cell for each device, by node, then by index.
boost::json::array deviceCells(const SharedRows& devices);

// Findings, the severest first.
class Attention {
 public:
  // `severity`: critical, warning or info. `link`: a page; empty: none.
  void add(const char* severity, const char* code, const std::string& text,
           const std::string& link);

  // Returns all findings.
  boost::json::array take();

 private:
  boost::json::array critical_, warning_, info_;
};

}  // namespace divvy::console
