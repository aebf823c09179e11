#include "api/protocol_json.h"

namespace divvy::agent {
namespace json {

bj::object write(const ExplainReply& reply) {
  bj::array devices;
  for (const DeviceVerdictView& verdict : reply.devices) {
    devices.push_back(bj::object{{"device", verdict.device},
                                 {"uuid", verdict.uuid},
                                 {"model", clean(verdict.model)},
                                 {"given", verdict.given},
                                 {"refusal", clean(verdict.refusal)},
                                 {"code", clean(verdict.code)}});
  }
  bj::object object{{"fits", reply.fits},
                    {"impossible", reply.impossible},
                    {"summary", clean(reply.summary)},
                    {"waiting", reply.waiting}};
  object["devices"] = std::move(devices);
  object["fixes"] = write(reply.fixes);
  bj::array victims;
  for (const VictimView& victim : reply.victims) {
    victims.push_back(bj::object{{"id", victim.id},
                                 {"name", clean(victim.name)},
                                 {"priority", victim.priority},
                                 {"memory", victim.memory.count}});
  }
  object["victims"] = std::move(victims);
  return object;
}

void read(Reader& reader, ExplainReply& out) {
  reader.flag("fits", out.fits);
  reader.flag("impossible", out.impossible);
  reader.text("summary", out.summary);
  reader.number("waiting", out.waiting);
  reader.each("devices", [&](Reader& item) {
    DeviceVerdictView& verdict = out.devices.emplace_back();
    item.number("device", verdict.device);
    item.text("uuid", verdict.uuid);
    item.text("model", verdict.model);
    item.flag("given", verdict.given);
    item.text("refusal", verdict.refusal);
    item.text("code", verdict.code);
  });
  reader.texts("fixes", out.fixes);
  reader.each("victims", [&](Reader& item) {
    VictimView& victim = out.victims.emplace_back();
    item.text("id", victim.id);
    item.text("name", victim.name);
    item.text("priority", victim.priority);
    item.number("memory", victim.memory.count);
  });
}

}  // namespace json

std::string explanationJson(const ExplainReply& reply) {
  return json::pretty(json::write(reply));
}

}  // namespace divvy::agent
