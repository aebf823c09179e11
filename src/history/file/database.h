// A connection to SQLite and its statements.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace divvy::history {

// How a call of SQLite ended, as far as it matters to the store.
enum class Outcome { kDone, kFull, kDamaged, kFailed };

// One connection. Not thread-safe.
class Database {
 public:
  // Opens or creates the file; ":memory:" has none. kIo, kCorrupt.
  static Result<Database> open(const std::string& path, bool read_only);

  // Runs statements that return no rows.
  Result<void> run(const std::string& statements);
  // Returns the number in the first column of the first row; 0: there is no row.
  Result<std::int64_t> number(const std::string& query);
  // Returns the text there.
  Result<std::string> text(const std::string& query);
  // The outcome and the error of the last call.
  Outcome outcome() const;
  Error error(const std::string& doing) const;
  // Rows that the last statement changed.
  int changes() const;
  sqlite3* handle() const { return handle_.get(); }

 private:
  struct Closer {
    void operator()(sqlite3* handle) const;
  };
  explicit Database(sqlite3* handle) : handle_(handle) {}

  std::unique_ptr<sqlite3, Closer> handle_;
};

// A prepared statement. Parameters and columns count from 1 and 0, as in SQLite. After the first
// failure, including that of preparing, step() returns kFailed or its like.
class Statement {
 public:
  enum class Step { kRow, kDone, kFailed };

  Statement(Database& database, const char* query);

  // Bind the next parameter. Texts and bytes must outlive the step.
  Statement& bind(std::int64_t value);
  Statement& bind(std::string_view text);
  Statement& bindBytes(std::string_view bytes);
  Step step();
  // Steps a statement without rows, then makes it ready for other parameters.
  bool done();
  void reset();

  std::int64_t number(int column) const;
  std::string text(int column) const;
  // Valid until the next step or reset.
  std::string_view bytes(int column) const;

 private:
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };

  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  int next_ = 1;
};

// A transaction, which is rolled back unless commit() succeeds.
class Transaction {
 public:
  explicit Transaction(Database& database);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  bool begun() const { return begun_; }
  Result<void> commit();

 private:
  Database& database_;
  bool begun_ = false;
};

}  // namespace divvy::history
