// The members of each value, in the order in which they are written: one list for both directions,
// `Io` is a Reader, or a Writer of constant values. Private.
//
// Each function takes its value apart first: whoever adds a member to one of these types finds here
// that it does not compile, and gives the member a name.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>
#include <variant>

#include "snapshot/snapshot.h"

namespace divvy::snapshot {

template <typename Value, typename Base>
concept Of = std::same_as<std::remove_const_t<Value>, Base>;

// must(): is always written, and has to be there. member(): else it is as by default. amount(): of
// memory, "<name>_bytes" or "<name>_percent".
struct Fields {
  template <typename Io, Of<engine::UseWeights> V>
  static void of(Io& io, V& v) {
    auto& [slots, compute, memory] = v;
    io.member("slots", slots);
    io.member("compute", compute);
    io.member("memory", memory);
  }

  template <typename Io, Of<engine::DevicePolicy> V>
  static void of(Io& io, V& v) {
    auto& [order, use, mutex, numa, links, nic] = v;
    io.member("order", order);
    io.member("use", use);
    io.member("mutex", mutex);
    io.member("numa", numa);
    io.member("links", links);
    io.member("nic", nic);
  }

  template <typename Io, Of<engine::Weights> V>
  static void of(Io& io, V& v) {
    auto& [cpu, memory, compute, device_memory, fragment, links] = v;
    io.member("cpu", cpu);
    io.member("memory", memory);
    io.member("compute", compute);
    io.member("device_memory", device_memory);
    io.member("fragment", fragment);
    io.member("links", links);
  }

  template <typename Io, Of<engine::UsageByHour> V>
  static void of(Io& io, V& v) {
    auto& [permille] = v;
    io.must("permille", permille);
  }

  template <typename Io, Of<engine::UsageByHourPolicy> V>
  static void of(Io& io, V& v) {
    auto& [ties, avoid_above] = v;
    io.member("ties", ties);
    io.member("avoid_above", avoid_above);
  }

  template <typename Io, Of<engine::Config> V>
  static void of(Io& io, V& v) {
    auto& [policy, seed, devices, weights, compat, daily] = v;
    io.must("policy", policy);
    io.member("seed", seed);
    io.member("device_policy", devices);
    io.member("weights", weights);
    io.member("compat", compat);
    io.member("daily", daily);
  }

  // What makes a device one.
  template <typename Io, Of<engine::Members> V>
  static void of(Io& io, V& v) {
    auto& [labels, nodes, match, models, uuid_match, uuids] = v;
    io.member("labels", labels);
    io.member("nodes", nodes);
    io.member("match", match);
    io.member("models", models);
    io.member("uuid_match", uuid_match);
    io.member("uuids", uuids);
  }

  template <typename Io, Of<engine::Pool> V>
  static void of(Io& io, V& v) {
    auto& [name, members, mode, policy, devices, weights, overcommit_permille, users, default_of] =
        v;
    io.must("name", name);
    io.member("members", members);
    io.member("mode", mode);
    io.member("policy", policy);
    io.member("device_policy", devices);
    io.member("weights", weights);
    io.member("overcommit_permille", overcommit_permille);
    io.member("users", users);
    io.member("default_of", default_of);
  }

  template <typename Io, Of<engine::DevicePart> V>
  static void of(Io& io, V& v) {
    auto& [name, memory, compute, cpus, size, starts] = v;
    io.must("name", name);
    io.member("memory_bytes", memory);
    io.member("compute_milli", compute);
    io.member("cpus", cpus);
    io.member("size", size);
    io.member("starts", starts);
  }

  template <typename Io, Of<engine::Partitioning> V>
  static void of(Io& io, V& v) {
    auto& [parts, cpus, slices] = v;
    io.must("parts", parts);
    io.member("cpus", cpus);
    io.member("slices", slices);
  }

  template <typename Io, Of<engine::InRow> V>
  static void of(Io& io, V& v) {
    auto& [place, runs] = v;
    io.must("place", place);
    io.member("runs", runs);
  }

  template <typename Io, Of<engine::Device> V>
  static void of(Io& io, V& v) {
    auto& [uuid, model, memory, compute, slots, health, cordoned, mode, numa, kind, terms,
           compute_rule, parting, block, row] = v;
    auto& [foreign, budget, overcommit_permille, context, host_map] = terms;
    io.must("uuid", uuid);
    io.must("model", model);
    io.must("physical_bytes", memory);
    io.member("compute_milli", compute);
    io.member("slots", slots);
    io.member("health", health);
    io.member("cordoned", cordoned);
    io.member("mode", mode);
    io.member("numa", numa);
    io.member("kind", kind);
    io.member("foreign_bytes", foreign);
    io.member("budget_bytes", budget);
    io.member("overcommit_permille", overcommit_permille);
    io.member("context_bytes", context);
    io.member("host_map", host_map);
    io.member("compute_rule", compute_rule);
    io.member("parting", parting);
    io.member("block", block);
    io.member("row", row);
  }

  template <typename Io, Of<engine::Label> V>
  static void of(Io& io, V& v) {
    auto& [key, value] = v;
    io.must("key", key);
    io.member("value", value);
  }

  template <typename Io, Of<engine::Link> V>
  static void of(Io& io, V& v) {
    auto& [a, b, score, direct] = v;
    io.must("a", a);
    io.must("b", b);
    io.must("score", score);
    io.member("direct", direct);
  }

  template <typename Io, Of<engine::Nic> V>
  static void of(Io& io, V& v) {
    auto& [name, distances] = v;
    io.must("name", name);
    io.member("distances", distances);
  }

  template <typename Io, Of<engine::ByCount> V>
  static void of(Io& io, V& v) {
    auto& [devices, value] = v;
    io.must("devices", devices);
    io.must("value", value);
  }

  template <typename Io, Of<engine::Wing> V>
  static void of(Io& io, V& v) {
    auto& [places] = v;
    io.must("places", places);
  }

  template <typename Io, Of<engine::NodeScore> V>
  static void of(Io& io, V& v) {
    auto& [kind, losses, scores, wings, links, together] = v;
    io.must("kind", kind);
    io.member("losses", losses);
    io.member("scores", scores);
    io.member("wings", wings);
    io.member("links", links);
    io.member("together", together);
  }

  template <typename Io, Of<engine::Node> V>
  static void of(Io& io, V& v) {
    auto& [name, cpu, memory, devices, labels, cordoned, host_reserve, order, links, nics, merits] =
        v;
    io.must("node", name);
    io.member("cpu_milli", cpu);
    io.member("memory_bytes", memory);
    io.member("devices", devices);
    io.member("labels", labels);
    io.member("cordoned", cordoned);
    io.member("host_reserve_bytes", host_reserve);
    io.member("order", order);
    io.member("links", links);
    io.member("nics", nics);
    io.member("merits", merits);
  }

  template <typename Io, Of<engine::DeviceRequest> V>
  static void of(Io& io, V& v) {
    auto& [count, memory, compute, kind, guarantee, part] = v;
    io.must("count", count);
    io.amount("memory", memory);
    io.member("compute_milli", compute);
    io.member("kind", kind);
    io.amount("guarantee", guarantee);
    io.member("part", part);
  }

  template <typename Io, Of<engine::Container> V>
  static void of(Io& io, V& v) {
    auto& [cpu, memory, devices, others, sidecar] = v;
    io.member("cpu_milli", cpu);
    io.member("memory_bytes", memory);
    io.member("devices", devices);
    io.member("others", others);
    io.member("sidecar", sidecar);
  }

  template <typename Io, Of<engine::Selector> V>
  static void of(Io& io, V& v) {
    auto& [match, models, not_models, uuids, not_uuids, uuid_match] = v;
    io.member("match", match);
    io.member("models", models);
    io.member("not_models", not_models);
    io.member("uuids", uuids);
    io.member("not_uuids", not_uuids);
    io.member("uuid_match", uuid_match);
  }

  template <typename Io, Of<engine::KindSelector> V>
  static void of(Io& io, V& v) {
    auto& [kind, selector] = v;
    io.must("kind", kind);
    io.member("selector", selector);
  }

  template <typename Io, Of<engine::Shape> V>
  static void of(Io& io, V& v) {
    auto& [init, containers, selector, by_kind, policy, context_outside, unswappable, devices,
           weights, daily, pool, company] = v;
    io.member("init", init);
    io.must("containers", containers);
    io.member("selector", selector);
    io.member("by_kind", by_kind);
    io.member("policy", policy);
    io.member("context_outside", context_outside);
    io.member("unswappable", unswappable);
    io.member("device_policy", devices);
    io.member("weights", weights);
    io.member("daily", daily);
    io.member("pool", pool);
    io.member("company", company);
  }

  template <typename Io, Of<engine::ColocationRule> V>
  static void of(Io& io, V& v) {
    auto& [kind, sort, beside] = v;
    io.must("kind", kind);
    io.must("sort", sort);
    io.must("beside", beside);
  }

  template <typename Io, Of<engine::Share> V>
  static void of(Io& io, V& v) {
    auto& [uuid, memory, compute, guarantee, part, start, size] = v;
    io.must("uuid", uuid);
    io.member("memory_bytes", memory);
    io.member("compute_milli", compute);
    io.member("guarantee_bytes", guarantee);
    io.member("part", part);
    io.member("start", start);
    io.member("size", size);
  }

  template <typename Io, Of<engine::Charge> V>
  static void of(Io& io, V& v) {
    auto& [uuid, memory, compute, slots, outside, swappable, largest, parts, cpus, slices,
           shared_too, sort] = v;
    io.must("uuid", uuid);
    io.member("memory_bytes", memory);
    io.member("compute_milli", compute);
    io.member("slots", slots);
    io.member("outside_bytes", outside);
    io.member("swappable_bytes", swappable);
    io.member("largest_bytes", largest);
    io.member("parts", parts);
    io.member("cpus", cpus);
    io.member("slices", slices);
    io.member("shared_too", shared_too);
    io.member("sort", sort);
  }

  template <typename Io, Of<engine::Placement> V>
  static void of(Io& io, V& v) {
    auto& [node, cpu, memory, containers, charges, score, kind, daily, pool] = v;
    io.must("node", node);
    io.member("cpu_milli", cpu);
    io.member("memory_bytes", memory);
    io.member("containers", containers);
    io.must("charges", charges);
    io.member("score", score);
    io.member("kind", kind);
    io.member("daily", daily);
    io.member("pool", pool);
  }

  template <typename Io, Of<engine::Allocation> V>
  static void of(Io& io, V& v) {
    auto& [id, placement, expires] = v;
    io.must("id", id);
    io.must("placement", placement);
    io.member("expires_ms", expires);
  }

  template <typename Io, Of<HeldAllocation> V>
  static void of(Io& io, V& v) {
    auto& [allocation, name, priority, since, shape, user] = v;
    of(io, allocation);
    io.member("name", name);
    io.member("priority", priority);
    io.member("since_ms", since);
    io.member("request", shape);
    io.member("user", user);
  }

  template <typename Io, Of<PendingRequest> V>
  static void of(Io& io, V& v) {
    auto& [request, name, priority, since, reason] = v;
    auto& [id, shape, user] = request;
    io.must("id", id);
    io.member("user", user);
    io.member("name", name);
    io.member("priority", priority);
    io.member("since_ms", since);
    io.must("request", shape);
    io.member("reason", reason);
  }

  template <typename Io, Of<RequestEvent> V>
  static void of(Io& io, V& v) {
    auto& [request, priority, outcome, placement, reason] = v;
    auto& [id, shape, user] = request;
    io.must("id", id);
    io.member("user", user);
    io.member("priority", priority);
    io.must("request", shape);
    io.must("outcome", outcome);
    io.member("placement", placement);
    io.member("reason", reason);
  }

  // What happened is said by which member is there.
  template <typename Io, Of<HistoryEntry> V>
  static void of(Io& io, V& v) {
    auto& [at, what] = v;
    io.must("at_ms", at);
    io.either("asked", "node", "gone", "holds", "released", what);
  }

  template <typename Io, Of<History> V>
  static void of(Io& io, V& v) {
    auto& [nodes, allocations, entries, dropped] = v;
    io.member("nodes", nodes);
    io.member("allocations", allocations);
    io.member("dropped", dropped);
    io.member("entries", entries);
  }

  template <typename Io, Of<Snapshot> V>
  static void of(Io& io, V& v) {
    auto& [written_by, written_at, redacted, config, pools, nodes, allocations, pending, history] =
        v;
    io.must("written_by", written_by);
    io.must("written_at_ms", written_at);
    io.member("redacted", redacted);
    io.must("config", config);
    io.member("pools", pools);
    io.must("nodes", nodes);
    io.must("allocations", allocations);
    io.must("pending", pending);
    io.member("history", history);
  }

  // What a list or an alternative holds in one member only.
  template <typename Io, Of<NodeUpdated> V>
  static void of(Io& io, V& v) {
    of(io, v.node);
  }
  template <typename Io, Of<AllocationUpdated> V>
  static void of(Io& io, V& v) {
    of(io, v.allocation);
  }
};

}  // namespace divvy::snapshot
