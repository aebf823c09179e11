// What of a question no engine would take. Private.
#pragma once

#include "sizing/answer.h"

namespace divvy::sizing {

Result<void> check(const ModelShape& model, const Question& question);

}  // namespace divvy::sizing
