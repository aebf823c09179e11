"""Writes a past into the history of a console: an hour of charts, and the usage of weeks.

A console that ran for minutes has the objects, series and usage of minutes only. Their rows are repeated at earlier
times. Which share existed in which hour depends on its
name and the hour only.
"""
import contextlib
import math
import sqlite3
import time
import zlib

HOUR_MS = 3_600_000
MINUTE_MS = 60_000
DAYS = 31
CHART_MINUTES = 75
USAGE = ("seconds", "device_ns", "promised_byte_seconds", "used_byte_seconds", "promised_compute_milli_seconds")


def varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0


def encoded(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def scaled(data, factor_of):
    """A minute's points, each value times `factor_of(series)`. Form: src/history/points/minute_codec.cpp."""
    out, numbers, series = bytearray(), varints(data), 0
    for head in numbers:
        series += head >> 2
        mean = next(numbers)
        above = 0 if head & 1 else next(numbers)
        factor = factor_of(series)
        out += encoded(head) + encoded(round((mean >> 1) * factor) << 1)
        if not head & 1:
            out += encoded(round(above * factor))
        if not head & 2:
            out += encoded(next(numbers))
    return bytes(out)


def wave(name, at):
    """A part of 1 that moves slowly with `at`, in a way of its own for each name."""
    phase = zlib.crc32(name.encode()) % 628 / 100
    return 0.5 * (math.sin(at / 7 + phase) + math.sin(at / 2.3 + 2 * phase))


def present(name, hour):
    """Whether that workload existed in the hour: services always, notebooks by day, others for some days."""
    if any(word in name for word in ("assistant", "serving", "embeddings", "speech", "pretrain")):
        return True
    day, clock = divmod(hour, 24)
    if "lab-" in name or "notebook" in name:
        return 7 <= clock < 19 and (day + 3) % 7 < 5
    return zlib.crc32(f"{name}/{day // 2}".encode()) % 10 < 7


def repeat_minutes(base):
    rows = base.execute("SELECT time,points FROM minute ORDER BY length(points)").fetchall()
    if not rows:
        raise SystemExit("past: the history has no minute")
    moving = {id for id, metric in base.execute("SELECT id,metric FROM series")
              if "used" in metric or "usage" in metric or "utilisation" in metric}
    names = dict(base.execute("SELECT id,object FROM series"))
    first, points = rows[-1]  # the one with the most series
    base.execute("DELETE FROM minute WHERE time<?", (first,))
    for at in range(1, CHART_MINUTES):
        minute = scaled(points, lambda id: 1 - abs(0.06 * wave(names.get(id, ""), at)) if id in moving else 1)
        base.execute("INSERT INTO minute(time,points) VALUES(?,?)", (first - at * MINUTE_MS, minute))


def repeat_usage(base, now):
    """Whole hours before this one, each share at the rate that was recorded."""
    this_hour = now // HOUR_MS
    columns = ",".join(USAGE)
    names = dict(base.execute("SELECT uid,CASE owner WHEN '' THEN name ELSE namespace||'/'||owner END FROM object"))
    rows = base.execute(f"SELECT share,device,sum({'),sum('.join(USAGE)}) FROM usage GROUP BY share,device").fetchall()
    devices = base.execute("SELECT device,sum(seconds),sum(byte_seconds) FROM device_hour GROUP BY device").fetchall()
    base.execute("DELETE FROM usage")
    base.execute("DELETE FROM device_hour")
    for hour in range(this_hour - DAYS * 24, this_hour):
        base.executemany("INSERT INTO device_hour VALUES(?,?,0,3600,?)",
                         [(hour, device, size * 3600 // seconds) for device, seconds, size in devices if seconds])
        base.executemany(
            f"INSERT INTO usage(hour,share,device,price,{columns},throttled_ms,paused_ms) "
            "VALUES(?,?,?,0,?,?,?,?,?,0,0)",
            [(hour, share, device, *amounts) for share, device, amounts in hour_of(rows, names, hour)])
    base.execute("UPDATE object SET first_seen=?", ((this_hour - DAYS * 24) * HOUR_MS,))


def hour_of(rows, names, hour):
    for share, device, seconds, *amounts in rows:
        if not seconds or not present(names.get(share, share), hour):
            continue
        busy = 1 - abs(0.2 * wave(share, hour))
        rates = [amount * 3600 // seconds for amount in amounts]
        yield share, device, (3600, int(rates[0] * busy), *rates[1:])


def write(file):
    """Rewrites the history of a console that has ended."""
    with contextlib.closing(sqlite3.connect(file)) as base, base:
        repeat_minutes(base)
        repeat_usage(base, int(time.time() * 1000))
