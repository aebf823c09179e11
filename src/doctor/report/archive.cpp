// tar (ustar, POSIX.1-1988), compressed by zlib's gzip. A library for all of tar would load eight
// more libraries in each `divvy run`.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "doctor/bundle.h"

namespace divvy::doctor {
namespace {

constexpr std::size_t kBlock = 512;
// The maximum of eleven octal digits.
constexpr std::uint64_t kMaxBytes = (std::uint64_t{1} << 33) - 1;

// Source: POSIX.1, the ustar interchange format.
struct Header {
  char name[100];
  char mode[8];
  char uid[8];
  char gid[8];
  char size[12];
  char mtime[12];
  char checksum[8];
  char type;
  char link[100];
  char magic[6];
  char version[2];
  char user[32];
  char group[32];
  char device_major[8];
  char device_minor[8];
  char prefix[155];
  char rest[12];
};
static_assert(sizeof(Header) == kBlock);

// Digits followed by a zero byte.
template <std::size_t N>
void octal(char (&field)[N], std::uint64_t number) {
  for (std::size_t at = N - 1; at-- > 0; number >>= 3)
    field[at] = static_cast<char>('0' + (number & 7));
}

Result<void> append(const std::string& name, const std::string& text, std::int64_t seconds,
                    std::string* out) {
  Header header{};
  if (name.empty() || name.size() > sizeof header.name || text.size() > kMaxBytes)
    return Error{ErrorCode::kInternal, "\"" + name + "\" cannot be stored in an archive"};
  std::memcpy(header.name, name.data(), name.size());
  octal(header.mode, 0600);
  octal(header.uid, 0);
  octal(header.gid, 0);
  octal(header.size, text.size());
  octal(header.mtime, static_cast<std::uint64_t>(seconds < 0 ? 0 : seconds));
  header.type = '0';
  std::memcpy(header.magic, "ustar", sizeof header.magic);
  std::memcpy(header.version, "00", sizeof header.version);
  // The checksum counts its own field as blanks.
  std::memset(header.checksum, ' ', sizeof header.checksum);
  unsigned sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i)
    sum += reinterpret_cast<const unsigned char*>(&header)[i];
  octal(header.checksum, sum);
  header.checksum[7] = '\0';
  out->append(reinterpret_cast<const char*>(&header), sizeof header);
  out->append(text);
  out->append((kBlock - text.size() % kBlock) % kBlock, '\0');
  return {};
}

Result<std::string> compressed(const std::string& text) {
  constexpr int kGzip = 15 + 16;  // the largest window, in gzip's format
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return Error{ErrorCode::kInternal, "zlib cannot be initialised"};
  std::string out;
  std::array<unsigned char, 65536> part{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  std::size_t left = text.size();
  int state = Z_OK;
  while (state == Z_OK) {
    // zlib's sizes have 32 bits.
    const auto now = static_cast<uInt>(std::min<std::size_t>(left, 1u << 30));
    stream.avail_in = now;
    stream.avail_out = static_cast<uInt>(part.size());
    stream.next_out = part.data();
    state = deflate(&stream, now == left ? Z_FINISH : Z_NO_FLUSH);
    left -= now - stream.avail_in;
    out.append(reinterpret_cast<const char*>(part.data()), part.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  if (state != Z_STREAM_END) return Error{ErrorCode::kInternal, "zlib cannot finish"};
  return out;
}

}  // namespace

Result<std::string> archiveOf(const Bundle& bundle) {
  std::string tar;
  const std::int64_t seconds = bundle.written_ms / 1000;
  Result<void> good = append("manifest.json", manifestOf(bundle), seconds, &tar);
  for (const BundleFile& one : bundle.files)
    if (good) good = append(one.name, one.text, seconds, &tar);
  if (!good) return good.error();
  tar.append(2 * kBlock, '\0');
  return compressed(tar);
}

}  // namespace divvy::doctor
