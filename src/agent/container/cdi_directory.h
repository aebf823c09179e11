// The CDI directory of a node's runtime. Specs of pods' containers are in it while the containers
// live, and reads of them are observed. Private.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "helper/client.h"

namespace divvy::agent {

// For one thread.
class CdiDirectory {
 public:
  // `link`: to a helper that writes there; null: this process does.
  explicit CdiDirectory(std::string dir, std::shared_ptr<helper::Client> link = nullptr)
      : dir_(std::move(dir)), link_(std::move(link)) {}

  // Creates the directory if missing. Removes specs of tenants that have ended.
  Result<void> open();
  bool isOpen() const { return watch_.valid(); }
  const std::string& dir() const { return dir_; }

  std::string fileOf(const std::string& tenant) const;
  // Writes atomically. Replaces an earlier spec of the tenant.
  Result<void> write(const std::string& tenant, const std::string& text);
  // Whether the spec was opened since it was last written. True also if events were lost.
  bool wasRead(const std::string& tenant);
  // Removes the specs of all other tenants.
  void keepOnly(const std::set<std::string>& tenants);

 private:
  Result<void> replace(const std::string& name, const std::string& text);
  bool remove(const std::string& name);
  void drain();

  const std::string dir_;
  const std::shared_ptr<helper::Client> link_;
  Fd watch_;                          // inotify
  std::map<std::string, bool> read_;  // by file name, of tenants' specs
};

}  // namespace divvy::agent
