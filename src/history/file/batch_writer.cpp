#include "file/batch_writer.h"

#include "points/chunk_codec.h"
#include "points/minute_codec.h"

namespace divvy::history {
namespace {

std::int64_t ms(Instant time) {
  return time.time_since_epoch().count();
}

bool writeSeries(Database& database, const Batch& batch) {
  Statement insert(database,
                   "INSERT INTO series(id,kind,object,metric,type,last) VALUES(?,?,?,?,?,0) "
                   "ON CONFLICT DO NOTHING");
  for (const auto& [id, series] : batch.series) {
    insert.bind(std::int64_t{id}).bind(series.key.kind).bind(series.key.object);
    insert.bind(series.key.metric).bind(static_cast<std::int64_t>(series.type));
    if (!insert.done()) return false;
  }
  Statement seen(database, "UPDATE series SET last=? WHERE id=?");
  for (const auto& [id, time] : batch.seen)
    if (!seen.bind(ms(time)).bind(std::int64_t{id}).done()) return false;
  return true;
}

bool writeMinutes(Database& database, const Batch& batch) {
  Statement insert(database, "INSERT INTO minute(time,points) VALUES(?,?) ON CONFLICT DO NOTHING");
  Statement select(database, "SELECT points FROM minute WHERE time=?");
  Statement update(database, "UPDATE minute SET points=? WHERE time=?");
  for (const auto& [time, bytes] : batch.minutes) {
    if (!insert.bind(ms(time)).bindBytes(bytes).done()) return false;
    if (database.changes() != 0) continue;
    if (select.bind(ms(time)).step() != Statement::Step::kRow) return false;
    MinutePoints merged = decodeMinute(bytes).value_or(MinutePoints());
    merged.merge(decodeMinute(select.bytes(0)).value_or(MinutePoints()));
    select.reset();
    const std::string written = encodeMinute(merged);
    if (!update.bindBytes(written).bind(ms(time)).done()) return false;
  }
  return true;
}

bool writeChunks(Database& database, const Batch& batch) {
  Statement insert(database,
                   "INSERT INTO chunk(tier,start,series,points) VALUES(?,?,?,?) "
                   "ON CONFLICT DO NOTHING");
  Statement select(database, "SELECT points FROM chunk WHERE tier=? AND start=? AND series=?");
  Statement update(database, "UPDATE chunk SET points=? WHERE tier=? AND start=? AND series=?");
  for (const ChunkRow& row : batch.chunks) {
    const auto tier = static_cast<std::int64_t>(row.tier);
    const std::int64_t start = ms(row.start), series = row.series;
    if (!insert.bind(tier).bind(start).bind(series).bindBytes(row.bytes).done()) return false;
    if (database.changes() != 0) continue;
    if (select.bind(tier).bind(start).bind(series).step() != Statement::Step::kRow) return false;
    const auto older = decodeChunk(select.bytes(0));
    const auto newer = decodeChunk(row.bytes);
    select.reset();
    if (!newer) continue;
    const std::string merged = encodeChunk(older ? mergedChunk(*older, *newer) : *newer);
    if (!update.bindBytes(merged).bind(tier).bind(start).bind(series).done()) return false;
  }
  return true;
}

bool writeUsage(Database& database, const Batch& batch) {
  Statement usage(database,
                  "INSERT INTO usage VALUES(?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET "
                  "seconds=seconds+excluded.seconds,device_ns=device_ns+excluded.device_ns,"
                  "promised_byte_seconds=promised_byte_seconds+excluded.promised_byte_seconds,"
                  "used_byte_seconds=used_byte_seconds+excluded.used_byte_seconds,"
                  "promised_compute_milli_seconds="
                  "promised_compute_milli_seconds+excluded.promised_compute_milli_seconds,"
                  "throttled_ms=throttled_ms+excluded.throttled_ms,"
                  "paused_ms=paused_ms+excluded.paused_ms");
  for (const auto& [key, sum] : batch.usage) {
    usage.bind(key.hour).bind(key.share).bind(key.device).bind(key.price).bind(sum.seconds);
    usage.bind(sum.device_ns).bind(sum.promised_byte_seconds).bind(sum.used_byte_seconds);
    usage.bind(sum.promised_compute_milli_seconds).bind(sum.throttled_ms).bind(sum.paused_ms);
    if (!usage.done()) return false;
  }
  Statement device(database,
                   "INSERT INTO device_hour VALUES(?,?,?,?,?) ON CONFLICT DO UPDATE SET "
                   "seconds=seconds+excluded.seconds,"
                   "byte_seconds=byte_seconds+excluded.byte_seconds");
  for (const auto& [key, row] : batch.devices) {
    device.bind(key.hour).bind(key.device).bind(key.price).bind(row.seconds);
    if (!device.bind(row.byte_seconds).done()) return false;
  }
  return true;
}

bool writeRecords(Database& database, const Batch& batch) {
  Statement event(database,
                  "INSERT INTO event(time,kind,object,actor,text,json) VALUES(?,?,?,?,?,?)");
  for (const Event& one : batch.events) {
    event.bind(ms(one.time)).bind(one.kind).bind(one.object).bind(one.actor).bind(one.text);
    if (!event.bind(one.json).done()) return false;
  }
  Statement object(database,
                   "INSERT INTO object VALUES(?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET "
                   "kind=coalesce(nullif(excluded.kind,''),kind),"
                   "name=coalesce(nullif(excluded.name,''),name),"
                   "namespace=coalesce(nullif(excluded.namespace,''),namespace),"
                   "team=coalesce(nullif(excluded.team,''),team),"
                   "queue=coalesce(nullif(excluded.queue,''),queue),"
                   "owner=coalesce(nullif(excluded.owner,''),owner),"
                   "image=coalesce(nullif(excluded.image,''),image),"
                   "model=coalesce(nullif(excluded.model,''),model),"
                   "first_seen=min(first_seen,excluded.first_seen),"
                   "last_seen=max(last_seen,excluded.last_seen)");
  for (const auto& [uid, one] : batch.objects) {
    object.bind(uid).bind(one.kind).bind(one.name).bind(one.namespace_name).bind(one.team);
    object.bind(one.queue).bind(one.owner).bind(one.image).bind(one.model);
    if (!object.bind(ms(one.first_seen)).bind(ms(one.last_seen)).done()) return false;
  }
  return true;
}

}  // namespace

WriteResult writeBatch(Database& database, const Batch& batch) {
  const auto failed = [&] {
    return WriteResult{database.outcome() == Outcome::kDone ? Outcome::kFailed : database.outcome(),
                       database.error("cannot write the history's file").message()};
  };
  Transaction transaction(database);
  if (!transaction.begun()) return failed();
  const bool written = writeSeries(database, batch) && writeMinutes(database, batch) &&
                       writeChunks(database, batch) && writeUsage(database, batch) &&
                       writeRecords(database, batch);
  if (!written) return failed();
  if (auto done = transaction.commit(); !done) return failed();
  return {};
}

}  // namespace divvy::history
