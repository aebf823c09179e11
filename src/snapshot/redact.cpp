#include <map>

#include "engine/engine.h"
#include "snapshot/recorder.h"

namespace divvy::snapshot {
namespace {

// The same number for the same text.
class NumberedNames {
 public:
  explicit NumberedNames(const char* kind) : kind_(kind) {}
  void replace(std::string& text) {
    if (text.empty()) return;
    const auto number = known_.try_emplace(text, known_.size() + 1).first->second;
    text = kind_ + std::to_string(number);
  }

 private:
  const char* kind_;
  std::map<std::string, std::size_t> known_;
};

class Redaction {
 public:
  explicit Redaction(Snapshot& snapshot) : all_(snapshot) { findOrder(); }

  void run() {
    for (engine::Pool& pool : all_.pools) redact(pool);
    for (engine::Node& node : all_.nodes) redact(node);
    for (HeldAllocation& held : all_.allocations) {
      redact(held.allocation);
      names_.replace(held.name);
      if (held.shape) redact(*held.shape, held.user);
    }
    for (PendingRequest& one : all_.pending) {
      redact(one.request);
      names_.replace(one.name);
      one.reason.clear();
    }
    for (engine::Node& node : all_.history.nodes) redact(node);
    for (engine::Allocation& one : all_.history.allocations) redact(one);
    for (HistoryEntry& entry : all_.history.entries)
      std::visit([&](auto& what) { redact(what); }, entry.what);
    all_.redacted = true;
  }

 private:
  // Of equally good nodes the first in an order goes first, which is by default one of names: it
  // is said now, of those that were there at any time.
  void findOrder() {
    engine::Engine engine(all_.config);
    const auto add = [&](const engine::Node& node) {
      engine::Node plain;
      plain.name = node.name;
      plain.order = node.order;
      static_cast<void>(engine.setNode(plain));
    };
    for (const engine::Node& node : all_.history.nodes) add(node);
    for (const HistoryEntry& entry : all_.history.entries)
      if (const auto* is = std::get_if<NodeUpdated>(&entry.what)) add(is->node);
    for (const engine::Node& node : all_.nodes) add(node);
    for (const engine::NodeName& name : engine.nodes()) order_.emplace(name, order_.size());
  }

  void redact(engine::Node& node) {
    node.order = order_.at(node.name);
    nodes_.replace(node.name.text);
    for (engine::Label& label : node.labels) labels_.replace(label.value);
  }
  void redact(engine::Allocation& one) {
    ids_.replace(one.id.text);
    redact(one.placement);
  }
  void redact(engine::Placement& one) {
    nodes_.replace(one.node.text);
    pools_.replace(one.pool.text);
  }
  void redact(engine::Request& one) {
    ids_.replace(one.id.text);
    redact(one.shape, one.user);
  }
  void redact(engine::Shape& shape, engine::UserName& user) {
    if (shape.pool) pools_.replace(shape.pool->text);
    users_.replace(user.text);
  }
  void redact(engine::Pool& pool) {
    pools_.replace(pool.name.text);
    for (engine::NodeName& node : pool.members.nodes) nodes_.replace(node.text);
    for (engine::Label& label : pool.members.labels) labels_.replace(label.value);
    for (auto* list : {&pool.users, &pool.default_of})
      for (engine::UserName& user : *list) users_.replace(user.text);
  }
  void redact(RequestEvent& asked) {
    redact(asked.request);
    if (asked.placement) redact(*asked.placement);
    asked.reason.clear();
  }
  void redact(NodeUpdated& is) { redact(is.node); }
  void redact(NodeRemoved& gone) { nodes_.replace(gone.node.text); }
  void redact(AllocationUpdated& holds) { redact(holds.allocation); }
  void redact(AllocationReleased& released) { ids_.replace(released.id.text); }

  Snapshot& all_;
  std::map<engine::NodeName, std::uint64_t> order_;
  NumberedNames ids_{"request-"};
  NumberedNames names_{"tenant-"};
  NumberedNames nodes_{"node-"};
  NumberedNames labels_{"value-"};
  NumberedNames pools_{"pool-"};
  NumberedNames users_{"user-"};
};

}  // namespace

void redact(Snapshot& snapshot) {
  Redaction(snapshot).run();
}

}  // namespace divvy::snapshot
