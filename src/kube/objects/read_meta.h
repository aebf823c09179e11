// Reader of metadata, shared by readers of objects. Private.
#pragma once

#include "kube/object.h"
#include "objects/members.h"

namespace divvy::kube {

void readMeta(Members& object, Meta* out);

}  // namespace divvy::kube
