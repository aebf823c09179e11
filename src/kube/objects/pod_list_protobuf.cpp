// Numbers of fields: Kubernetes' generated.proto of core/v1, meta/v1, runtime and resource.
#include "objects/pod_list_protobuf.h"

#include <chrono>
#include <cstdio>

#include "base/rfc3339.h"
#include "objects/pod_fields.h"
#include "objects/protobuf_reader.h"

namespace divvy::kube {
namespace {

constexpr std::string_view kMagic("k8s\0", 4);

// Reads the contents of the envelope (runtime.Unknown). Returns false if it is broken or holds
// another type.
bool openEnvelope(std::string_view bytes, std::string_view* inside) {
  std::string kind;
  bool there = false;
  const bool whole =
      isProtobuf(bytes) && eachField(bytes.substr(kMagic.size()), [&](auto& one) {
        if (one.number == 2) {
          there = one.form == Field::Form::kBytes;
          *inside = one.bytes;
        }
        if (one.number != 1) return true;
        return one.form == Field::Form::kBytes && eachField(one.bytes, [&](const Field& type) {
                 return type.number != 2 || type.text(&kind);
               });
      });
  return whole && there && kind == "PodList";
}

bool isMessage(const Field& one) {
  return one.form == Field::Form::kBytes;
}

bool readListMeta(const Field& from, std::string* version, std::string* next) {
  return isMessage(from) && eachField(from.bytes, [&](const Field& one) {
           if (one.number == 2) return one.text(version);
           if (one.number == 3) return one.text(next);
           return true;
         });
}

bool readSeconds(const Field& from, std::int64_t* seconds) {
  return isMessage(from) && eachField(from.bytes, [&](const Field& one) {
           return one.number != 1 || one.whole(seconds);
         });
}

// An entry of a map of strings.
bool readEntry(const Field& from, Labels* into) {
  std::string key, value;
  const bool whole = isMessage(from) && eachField(from.bytes, [&](const Field& one) {
                       if (one.number == 1) return one.text(&key);
                       if (one.number == 2) return one.text(&value);
                       return true;
                     });
  if (whole) into->insert_or_assign(std::move(key), std::move(value));
  return whole;
}

// A quantity is a message with its text.
bool readQuantity(const Field& from, Quantities* into) {
  std::string key, value;
  const bool whole = isMessage(from) && eachField(from.bytes, [&](const Field& one) {
                       if (one.number == 1) return one.text(&key);
                       if (one.number != 2) return true;
                       return isMessage(one) && eachField(one.bytes, [&](const Field& text) {
                                return text.number != 1 || text.text(&value);
                              });
                     });
  if (value.empty()) value = "0";  // as servers write it in JSON
  if (whole) into->insert_or_assign(std::move(key), std::move(value));
  return whole;
}

bool readOwner(const Field& from, std::string* controller) {
  std::string kind;
  bool controls = false;
  const bool whole = isMessage(from) && eachField(from.bytes, [&](const Field& one) {
                       if (one.number == 1) return one.text(&kind);
                       if (one.number == 6) return one.flag(&controls);
                       return true;
                     });
  if (whole && controls && !kind.empty()) *controller = std::move(kind);
  return whole;
}

bool readMeta(const Field& from, Pod* pod) {
  Meta& meta = pod->meta;
  return isMessage(from) && eachField(from.bytes, [&](const Field& one) {
           switch (one.number) {
             case 1:
               return one.text(&meta.name);
             case 3:
               return one.text(&meta.namespace_name);
             case 5:
               return one.text(&meta.uid);
             case 6:
               return one.text(&meta.version);
             case 8: {
               std::int64_t seconds = 0;
               if (!readSeconds(one, &seconds)) return false;
               if (!one.bytes.empty()) pod->created = formatRfc3339(seconds);
               return true;
             }
             case 9:
               meta.deleting = true;
               return isMessage(one);
             case 11:
               return readEntry(one, &meta.labels);
             case 12:
               return readEntry(one, &meta.annotations);
             case 13:
               return readOwner(one, &pod->controller);
             default:
               return true;
           }
         });
}

bool readResources(const Field& from, Quantities* limits, Quantities* requests) {
  return isMessage(from) && eachField(from.bytes, [&](const Field& one) {
           if (one.number == 1 && limits != nullptr) return readQuantity(one, limits);
           if (one.number == 2) return readQuantity(one, requests);
           return true;
         });
}

bool readContainer(const Field& from, std::vector<PodContainer>* into) {
  PodContainer& container = into->emplace_back();
  return isMessage(from) && eachField(from.bytes, [&](const Field& one) {
           switch (one.number) {
             case 1:
               return one.text(&container.name);
             case 8:
               return readResources(one, &container.limits, &container.requests);
             case 15:
               return isMessage(one) && eachField(one.bytes, [&](const Field& context) {
                        return context.number != 2 || context.flag(&container.privileged);
                      });
             case 24: {
               std::string restart;
               if (!one.text(&restart)) return false;
               container.sidecar = restart == kAlways;
               return true;
             }
             default:
               return true;
           }
         });
}

bool readGate(const Field& from, std::vector<std::string>* into) {
  std::string& name = into->emplace_back();
  return isMessage(from) && eachField(from.bytes, [&](const Field& one) {
           return one.number != 1 || one.text(&name);
         });
}

bool readSpec(const Field& from, Pod* pod) {
  std::string preemption;
  const bool whole = isMessage(from) && eachField(from.bytes, [&](const Field& one) {
                       switch (one.number) {
                         case 2:
                           if (!readContainer(one, &pod->containers)) return false;
                           pod->containers.back().sidecar = false;
                           return true;
                         case 4:
                           return one.whole(&pod->grace);
                         case 10:
                           return one.text(&pod->node);
                         case 19:
                           return one.text(&pod->scheduler);
                         case 20:
                           return readContainer(one, &pod->init);
                         case 25:
                           return one.whole(&pod->priority);
                         case 31:
                           return one.text(&preemption);
                         case 32:
                           return readQuantity(one, &pod->overhead);
                         case 38:
                           return readGate(one, &pod->gates);
                         case 40:
                           return readResources(one, nullptr, &pod->requests);
                         default:
                           return true;
                       }
                     });
  pod->preempts = preemption != kNever;
  return whole;
}

bool readCondition(const Field& from, Pod* pod) {
  PodCondition said;
  std::int64_t since = 0;
  const bool whole = isMessage(from) && eachField(from.bytes, [&](const Field& one) {
                       switch (one.number) {
                         case 1:
                           return one.text(&said.type);
                         case 2:
                           return one.text(&said.status);
                         case 4:
                           return readSeconds(one, &since);
                         case 6:
                           return one.text(&said.message);
                         default:
                           return true;
                       }
                     });
  if (whole) take(std::move(said), since, pod);
  return whole;
}

bool readStatus(const Field& from, Pod* pod) {
  return isMessage(from) && eachField(from.bytes, [&](const Field& one) {
           switch (one.number) {
             case 1: {
               std::string phase;
               if (!one.text(&phase)) return false;
               pod->phase = phaseOf(phase);
               return true;
             }
             case 2:
               return readCondition(one, pod);
             case 11:
               return one.text(&pod->nominated);
             default:
               return true;
           }
         });
}

bool readPod(const Field& from, Pod* pod) {
  return isMessage(from) && eachField(from.bytes, [&](const Field& one) {
           switch (one.number) {
             case 1:
               return readMeta(one, pod);
             case 2:
               return readSpec(one, pod);
             case 3:
               return readStatus(one, pod);
             default:
               return true;
           }
         });
}

}  // namespace

bool isProtobuf(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

std::string podsGoOnAt(std::string_view bytes) {
  std::string_view inside;
  std::string version, next;
  if (!openEnvelope(bytes, &inside)) return {};
  // The metadata precedes the items.
  bool read = false;
  eachField(inside, [&](const Field& one) {
    read = one.number == 1 && readListMeta(one, &version, &next);
    return false;
  });
  return read ? next : std::string();
}

Result<PodListPage> podPageOf(std::string_view bytes) {
  std::string_view inside;
  if (!openEnvelope(bytes, &inside))
    return Error{ErrorCode::kCorrupt, "the answer is not a list of pods in protobuf"};
  PodListPage page;
  const bool whole = eachField(inside, [&](const Field& one) {
    if (one.number == 1) return readListMeta(one, &page.version, &page.next);
    return one.number != 2 || readPod(one, &page.pods.emplace_back());
  });
  if (whole) return page;
  return Error{ErrorCode::kCorrupt, "in protobuf, what follows " +
                                        std::to_string(page.pods.size()) +
                                        " pods of the list has an unknown format"};
}

}  // namespace divvy::kube
