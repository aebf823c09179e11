#include "kube/object.h"

#include "objects/read_meta.h"

namespace divvy::kube {

void readMeta(Members& object, Meta* out) {
  object.in("metadata", [&](Members& meta) {
    meta.text("name", &out->name);
    meta.text("namespace", &out->namespace_name);
    meta.text("uid", &out->uid);
    meta.text("resourceVersion", &out->version);
    meta.texts("labels", &out->labels);
    meta.texts("annotations", &out->annotations);
    out->deleting = meta.find("deletionTimestamp") != nullptr;
  });
}

Result<Meta> metaOf(const json::value& object) {
  Members members(object, "");
  Meta meta;
  readMeta(members, &meta);
  if (!members.ok()) return members.error();
  return meta;
}

}  // namespace divvy::kube
