// Any bytes as a tenant's tenant.json: refused with the file's name, or a record that is the same
// after it was saved and loaded again.
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "fuzz_input.h"
#include "tenant/tenant_record.h"

using namespace divvy;
using namespace divvy::agent;

namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string pattern = fs::exists("/dev/shm") ? "/dev/shm" : "/tmp";
    pattern += "/divvy-record-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

  void write(std::string_view text) const {
    std::ofstream(path_ + "/tenant.json", std::ios::binary) << text;
  }
  std::string text() const {
    std::ifstream file(path_ + "/tenant.json", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

void checkRecord(const TenantRecord& record) {
  for (const ShareRecord& share : record.shares)
    need(mostStood(record, share) >= share.reserve, "what stood is not less than the reserve");
  TenantRecord shrunk = record;
  std::vector<ShareRecord> smaller = record.shares;
  for (ShareRecord& share : smaller) share.reserve.count /= 2;
  noteShrunk(shrunk, smaller);
  for (const ShareRecord& share : smaller)
    need(mostStood(shrunk, share) >= share.reserve, "a share that shrank");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  folder.write(textOf(data, size));
  const Result<TenantRecord> record = loadRecord(folder.path());
  if (!record) {
    need(record.error().code() == ErrorCode::kCorrupt, "the kind of error");
    need(record.error().message().find("tenant.json") != std::string::npos, "the file's name");
    return 0;
  }
  checkRecord(*record);
  need(bool(saveRecord(folder.path(), *record)), "a record that was loaded can be saved");
  const std::string saved = folder.text();
  const Result<TenantRecord> again = loadRecord(folder.path());
  need(again.has_value(), "a record that was saved can be loaded");
  need(bool(saveRecord(folder.path(), *again)) && folder.text() == saved, "a record comes back");
  need(again->shares == record->shares && again->stood == record->stood &&
           (again->lodger == record->lodger || !record->ofPod()) &&
           again->models == record->models && again->command == record->command &&
           again->expected_use == record->expected_use,
       "the parts of a record come back");
  // A file that was cut is refused: the newline at the end is no part of the record.
  folder.write(std::string_view(saved).substr(0, size % (saved.size() - 1)));
  need(!loadRecord(folder.path()), "a record that was cut");
  return 0;
}
