// The file: opened, locked, checked, and the connections to it.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "base/fd.h"
#include "file/database.h"
#include "history/store.h"

namespace divvy::history {

// One connection that writes, and some that read. Any thread may call read() and write().
class Connections {
 public:
  // Opens the store's file, or a database in memory. A damaged file is moved aside. `epoch` is for
  // a file that is created. Errors as Store::open().
  static Result<std::unique_ptr<Connections>> open(const StoreOptions& options,
                                                   std::uint64_t epoch);

  // Calls `each` with a connection that sees all commits. In memory there is one connection, and
  // it waits for the writer.
  Result<void> read(const std::function<Result<void>(Database&)>& each);
  // Calls `each` with the connection that writes.
  void write(const std::function<void(Database&)>& each);

  // Leaves a note, so that the next open() moves the file aside.
  void noteDamage(const std::string& why) const;
  // Bytes of the file; 0 in memory.
  Bytes size() const;

  const OpenReport& report() const { return report_; }
  std::uint64_t epoch() const { return epoch_; }

 private:
  Connections(std::string path, Fd lock, Database writer)
      : path_(std::move(path)), lock_(std::move(lock)), writer_(std::move(writer)) {}

  std::string path_;  // empty: in memory
  Fd lock_;
  OpenReport report_;
  std::uint64_t epoch_ = 0;
  std::mutex writer_mutex_;
  Database writer_;
  std::mutex idle_mutex_;
  std::vector<Database> idle_;  // connections that read
};

}  // namespace divvy::history
