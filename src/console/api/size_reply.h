// Answers about the memory that serving a model needs. Pure.
#pragma once

#include "http/answer.h"
#include "http/query.h"

namespace divvy::console {

// GET /size: the figures of `divvy size`, and the manifest. 400: the model or an option is not
// known.
http::Answer sizeAnswer(const http::Query& query);
// GET /size/names: the models, devices and formats that it accepts.
http::Answer sizeNames();

}  // namespace divvy::console
