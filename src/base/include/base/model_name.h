// Names of device models: the one rule by which a user's pattern selects a model. Pure.
#pragma once

#include <string_view>

namespace divvy {

// The patterns that isModelPattern() accepts, for messages.
inline constexpr std::string_view kModelPatterns =
    "whole words of a model's name: H20, RTX 4090, A100-SXM4-80GB";

// Returns whether `pattern` has a letter or a digit of any script. Without one it would name every
// model.
bool isModelPattern(std::string_view pattern);

// Returns whether `pattern` is one or several consecutive whole words of `model`: "H20" is in
// "NVIDIA H20", not in "NVIDIA H200". Both are UTF-8.
// - Words are runs of letters and digits. Spaces and punctuation between words do not count:
//   "rtx4090" and "RTX-4090" are in "GeForce RTX 4090".
// - Three or more letters before a digit are a word of their own: "4090" is in "RTX4090", "910B4"
//   in "Ascend910B4". So is a number with its letter before a further digit: "910B" in "910B4".
// - ASCII letters of either case are the same, full-width forms are their ASCII ones. Letters of
//   other scripts are compared as they are, and are words of their own beside ASCII ones.
// Returns false for a pattern that isModelPattern() refuses.
bool namesModel(std::string_view pattern, std::string_view model);

}  // namespace divvy
