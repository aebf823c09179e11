// Where a node's runtime looks for devices: what pods' containers get stands there while they live,
// and it is seen whether anybody reads it. Private.
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
  // `link`: to a helper that writes there; null: we do.
  explicit CdiDirectory(std::string dir, std::shared_ptr<helper::Client> link = nullptr)
      : dir_(std::move(dir)), link_(std::move(link)) {}

  // Makes it where it is missing, takes away what an earlier agent left of tenants that are gone.
  Result<void> open();
  bool isOpen() const { return watch_.valid(); }
  const std::string& dir() const { return dir_; }

  std::string fileOf(const std::string& tenant) const;
  // Whole, or not at all; what was there before of that tenant is replaced.
  Result<void> write(const std::string& tenant, const std::string& text);
  // Whether somebody has opened it since it was written last. Where too much happened to be told,
  // yes: nobody is accused of what was not seen.
  bool wasRead(const std::string& tenant);
  // Takes away what is there of others than these tenants.
  void keepOnly(const std::set<std::string>& tenants);

 private:
  Result<void> replace(const std::string& name, const std::string& text);
  bool remove(const std::string& name);
  void drain();

  const std::string dir_;
  const std::shared_ptr<helper::Client> link_;
  Fd watch_;                          // inotify
  std::map<std::string, bool> read_;  // by file's name, of tenants'
};

}  // namespace divvy::agent
