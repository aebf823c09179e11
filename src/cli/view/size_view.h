// Output of `divvy size`. Pure.
#pragma once

#include <string>

#include "sizing/report.h"

namespace divvy::cli {

using SizeReport = sizing::Report;

// `width` as for Table::text.
std::string sizeText(const SizeReport& report, bool headers, std::size_t width);
std::string sizeJson(const SizeReport& report);
std::string sizeYaml(const SizeReport& report);

std::string modelsText(bool headers, std::size_t width);
std::string modelsJson();

}  // namespace divvy::cli
