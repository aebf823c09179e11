// CUDA arrays, which Divvy cannot swap: so many of 2 MiB, each with a pattern of its own.
#pragma once

// Makes and fills `count` more. 0, or the first driver error.
int makeArrays(unsigned long long count);
// Reads all back and counts the words that are not what they were.
int verifyArrays(unsigned long long* wrong);
