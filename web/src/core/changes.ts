// What the form of a share sends: only what differs from what the share has now. Pure.
import { bytesOption, type Maybe, parseBytes } from "./units";

// The body of POST changes, without dry_run.
export interface Change {
  what: string;
  target: Record<string, string>;
  to?: Record<string, unknown>;
}

const kGibi = 1024 ** 3;
const kMaxNotice = 500;

// The text of an amount of memory after a step of GiB; null where the text is no amount, or nothing would be left.
export function stepped(text: string, gibi: number): string | null {
  const bytes = parseBytes(text);
  if (bytes === null || bytes + gibi * kGibi <= 0) return null;
  return bytesOption(bytes + gibi * kGibi);
}

export interface ShareValues {
  memory: string; // of each device
  cores: string;
}

interface Sized {
  limit_bytes?: Maybe<number>;
  cores_percent?: Maybe<number>;
}

// What a share has of each device, as the form's texts; "" where it is not known, and of compute where none is set. The
// amounts of the share itself are sums over its devices.
export function shareValues(share: Sized & { devices?: Maybe<Sized[]> }): ShareValues {
  const { limit_bytes: bytes, cores_percent: cores } = share.devices?.[0] ?? share;
  return { memory: bytes == null ? "" : bytesOption(bytes), cores: cores ? String(cores) : "" };
}

// What differs, as `to` of a resize; null: nothing. The memory has to be an amount.
export function resizeOf(values: ShareValues, now: ShareValues): Record<string, unknown> | null {
  const bytes = values.memory.trim() === now.memory ? null : parseBytes(values.memory);
  const to = {
    ...(bytes === null ? {} : { memory: bytesOption(bytes) }),
    ...(values.cores === "" || values.cores === now.cores ? {} : { cores: Number(values.cores) }),
  };
  return Object.keys(to).length ? to : null;
}

// Whether a share has by now what a resize requested.
export function isResized(share: Sized & { devices?: Maybe<Sized[]> }, to: Maybe<Record<string, unknown>>): boolean {
  const now = shareValues(share);
  return (to?.memory === undefined || now.memory === to.memory) && (to?.cores === undefined || now.cores === String(to.cores));
}

// A notice has one line.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
export const noticeText = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f\s]+/g, " ").trim().slice(0, kMaxNotice);
