// Text of amounts, durations and instants. Each function takes a number that is known: the callers
// show an unknown value by <NotKnown>, never as zero.

export type Maybe<T> = T | null | undefined;

const kKibi = 1024;
const kMebi = kKibi * 1024;
const kGibi = kMebi * 1024;
const kTebi = kGibi * 1024;

let locale = "en";

// Sets the language of numbers and dates for all functions of this file.
export function setUnitLocale(name: string): void {
  locale = name;
}

export function formatNumber(value: number, digits = 0): string {
  return new Intl.NumberFormat(locale, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).format(value);
}

// Bytes as GiB with one decimal; MiB or KiB below one GiB, TiB from 10 TiB.
export function formatBytes(bytes: number): string {
  const size = Math.abs(bytes);
  if (size === 0) return "0 GiB";
  if (size < kMebi) return `${formatNumber(bytes / kKibi)} KiB`;
  if (size < kGibi) return `${formatNumber(bytes / kMebi)} MiB`;
  if (size < 10 * kTebi) return `${formatNumber(bytes / kGibi, 1)} GiB`;
  return `${formatNumber(bytes / kTebi, 1)} TiB`;
}

export function formatRate(bytesPerSecond: number): string {
  return `${formatBytes(bytesPerSecond)}/s`;
}

// From this on, decimals say nothing.
const kWhole = 1000;

// Hours with one decimal; what is above zero and would round to it is "<0.1 h".
export function formatHours(hours: number): string {
  return hours > 0 && hours < 0.05 ? `<${formatNumber(0.1, 1)} h` : `${formatNumber(hours, hours < kWhole ? 1 : 0)} h`;
}

// Millionths of a currency, which may have any name.
export function formatMoney(micro: number, currency: string): string {
  const amount = micro / 1e6;
  return `${formatNumber(amount, amount < kWhole ? 2 : 0)} ${currency}`;
}

// A share of 100, rounded; what is above zero and would round to it is "<1%".
export function formatPercent(percent: number): string {
  if (percent > 0 && percent < 0.5) return "<1%";
  return `${formatNumber(Math.round(percent))}%`;
}

export function formatPermille(permille: number): string {
  return formatPercent(permille / 10);
}

// part / whole as percent of 0..100 and above; null where the whole is not known or nothing.
export function ratioPercent(part: Maybe<number>, whole: Maybe<number>): number | null {
  if (part == null || whole == null || whole <= 0) return null;
  return (part / whole) * 100;
}

const kSecond = 1000;
const kMinute = 60 * kSecond;
const kHour = 60 * kMinute;
const kDay = 24 * kHour;

// A length of time by its two largest units: "340 ms", "3.2 s", "45 s", "12 min", "3 h 20 min".
export function formatDuration(ms: number): string {
  if (ms < kSecond) return `${formatNumber(Math.round(ms))} ms`;
  if (ms < 10 * kSecond) return `${formatNumber(ms / kSecond, 1)} s`;
  if (ms < kMinute) return `${formatNumber(Math.floor(ms / kSecond))} s`;
  if (ms < kHour) return twoUnits(ms, kMinute, "min", kSecond, "s", 10);
  if (ms < kDay) return twoUnits(ms, kHour, "h", kMinute, "min", 48);
  return twoUnits(ms, kDay, "d", kHour, "h", 14);
}

function twoUnits(
  ms: number, large: number, largeName: string, small: number, smallName: string, onlyLargeFrom: number,
): string {
  const count = Math.floor(ms / large);
  const rest = Math.floor((ms % large) / small);
  const first = `${formatNumber(count)} ${largeName}`;
  return rest === 0 || count >= onlyLargeFrom ? first : `${first} ${formatNumber(rest)} ${smallName}`;
}

// "12 seconds ago" in the viewer's language. Both instants are of the server's clock.
export function formatAgo(instantMs: number, nowMs: number): string {
  const words = new Intl.RelativeTimeFormat(locale, { numeric: "always", style: "short" });
  const age = Math.max(0, nowMs - instantMs);
  if (age < kMinute) return words.format(-Math.floor(age / kSecond), "second");
  if (age < kHour) return words.format(-Math.floor(age / kMinute), "minute");
  if (age < 2 * kDay) return words.format(-Math.floor(age / kHour), "hour");
  return words.format(-Math.floor(age / kDay), "day");
}

// Date and time with the zone's name, for titles.
export function formatInstant(ms: number): string {
  return new Intl.DateTimeFormat(locale, {
    year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit",
    hourCycle: "h23", timeZoneName: "short",
  }).format(ms);
}

export function formatClock(ms: number): string {
  return new Intl.DateTimeFormat(locale, {
    hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
  }).format(ms);
}

// The date of a day of UTC.
export function formatDay(ms: number): string {
  return new Intl.DateTimeFormat(locale, { weekday: "short", month: "short", day: "numeric", timeZone: "UTC" }).format(ms);
}

const kSuffixes: Record<string, number> = {
  "": 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12, ki: kKibi, mi: kMebi, gi: kGibi, ti: kTebi,
};

// Bytes of "16Gi", "16 GiB", "500M"; null if the text is no amount.
export function parseBytes(text: string): number | null {
  const parts = /^\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*$/i.exec(text);
  if (!parts) return null;
  const factor = kSuffixes[(parts[2] ?? "").toLowerCase()];
  return factor === undefined ? null : Math.round(Number(parts[1]) * factor);
}

// Bytes as the command line takes them: "16Gi", "512Mi".
export function bytesOption(bytes: number): string {
  if (bytes % kGibi === 0) return `${bytes / kGibi}Gi`;
  return `${Math.ceil(bytes / kMebi)}Mi`;
}
