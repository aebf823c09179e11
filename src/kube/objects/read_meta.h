// Private: what readers of objects share.
#pragma once

#include "kube/object.h"
#include "objects/members.h"

namespace divvy::kube {

void readMeta(Members& object, Meta* out);

}  // namespace divvy::kube
