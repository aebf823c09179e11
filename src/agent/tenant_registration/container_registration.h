// Provides the means by which containers register: a directory with a registrar's socket, and the
// preload list. Both are mounted into containers.
#pragma once

#include "agent/container_edits.h"
#include "agent/install_layout.h"
#include "agent/node.h"
#include "device/inventory.h"
#include "os/asio.h"
#include "tenant/tenant_manager.h"
#include "tenant_registration/process_registrar.h"

namespace divvy::agent {

class ContainerRegistration {
 public:
  ContainerRegistration(asio::io_context& loop, const Node& node, NodePaths paths,
                        const InstallLayout& install, TenantManager& tenants,
                        const Inventory& inventory)
      : node_(node),
        paths_(std::move(paths)),
        install_(install),
        inventory_(inventory),
        registrar_(loop, tenants) {}

  // Accepts registrations of processes in containers from then on. Does nothing if already open.
  Result<void> open();
  // Call once a second.
  void poll() { registrar_.poll(); }
  // The edits for the tenant's container, with its cards and their driver.
  Result<ContainerEdits> editsOf(const Tenant& tenant) const;

 private:
  Result<void> layOut();
  Result<void> openCards();

  Node node_;
  NodePaths paths_;
  InstallLayout install_;
  const Inventory& inventory_;
  Registrar registrar_;
  bool open_ = false;
};

}  // namespace divvy::agent
