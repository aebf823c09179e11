#include "file/database.h"

#include <sqlite3.h>

namespace divvy::history {
namespace {

// Readers beside a writer never wait; this is for the moments of a checkpoint or a recovery.
constexpr int kBusyMs = 5'000;

}  // namespace

void Database::Closer::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}

Result<Database> Database::open(const std::string& path, bool read_only) {
  sqlite3* handle = nullptr;
  const int access = read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(path.c_str(), &handle, access | SQLITE_OPEN_NOMUTEX, nullptr);
  if (handle == nullptr) return Error(ErrorCode::kIo, "cannot open " + path + ": out of memory");
  Database database(handle);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyMs);
  if (code != SQLITE_OK) return database.error("cannot open " + path);
  return database;
}

Result<void> Database::run(const std::string& statements) {
  if (sqlite3_exec(handle(), statements.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return error("the history's file refuses \"" + statements.substr(0, 40) + "\"");
  return {};
}

Result<std::int64_t> Database::number(const std::string& query) {
  Statement statement(*this, query.c_str());
  const auto step = statement.step();
  if (step == Statement::Step::kFailed) return error("cannot read the history's file");
  return step == Statement::Step::kRow ? statement.number(0) : 0;
}

Result<std::string> Database::text(const std::string& query) {
  Statement statement(*this, query.c_str());
  const auto step = statement.step();
  if (step == Statement::Step::kFailed) return error("cannot read the history's file");
  return step == Statement::Step::kRow ? statement.text(0) : std::string();
}

Outcome Database::outcome() const {
  switch (sqlite3_errcode(handle()) & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
      return Outcome::kDone;
    case SQLITE_FULL:
      return Outcome::kFull;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Outcome::kDamaged;
    case SQLITE_IOERR: {
      const int extended = sqlite3_extended_errcode(handle());
      const bool write = extended == SQLITE_IOERR_WRITE || extended == SQLITE_IOERR_SHMSIZE ||
                         extended == SQLITE_IOERR_TRUNCATE;
      // A quota or a limit of the file's size answers in other ways than a full disk.
      return write ? Outcome::kFull : Outcome::kFailed;
    }
    default:
      return Outcome::kFailed;
  }
}

Error Database::error(const std::string& doing) const {
  const ErrorCode code = outcome() == Outcome::kDamaged ? ErrorCode::kCorrupt : ErrorCode::kIo;
  return {code, doing + ": " + sqlite3_errmsg(handle())};
}

int Database::changes() const {
  return sqlite3_changes(handle());
}

void Statement::Finalizer::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(Database& database, const char* query) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(database.handle(), query, -1, &statement, nullptr);
  statement_.reset(statement);
}

Statement& Statement::bind(std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), next_++, value);
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  sqlite3_bind_text64(statement_.get(), next_++, text.data() ? text.data() : "", text.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bindBytes(std::string_view bytes) {
  sqlite3_bind_blob64(statement_.get(), next_++, bytes.data() ? bytes.data() : "", bytes.size(),
                      SQLITE_STATIC);
  return *this;
}

Statement::Step Statement::step() {
  if (!statement_) return Step::kFailed;
  switch (sqlite3_step(statement_.get())) {
    case SQLITE_ROW:
      return Step::kRow;
    case SQLITE_DONE:
      return Step::kDone;
    default:
      return Step::kFailed;
  }
}

// The reset comes only after success: it would replace the connection's error.
bool Statement::done() {
  if (step() != Step::kDone) return false;
  reset();
  return true;
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  next_ = 1;
}

std::int64_t Statement::number(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::text(int column) const {
  return std::string(bytes(column));
}

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return {static_cast<const char*>(data), data ? static_cast<std::size_t>(size) : 0};
}

Transaction::Transaction(Database& database)
    : database_(database), begun_(database.run("BEGIN IMMEDIATE").has_value()) {}

Transaction::~Transaction() {
  if (begun_) (void)database_.run("ROLLBACK");
}

Result<void> Transaction::commit() {
  if (auto done = database_.run("COMMIT"); !done) return done;
  begun_ = false;
  return {};
}

}  // namespace divvy::history
