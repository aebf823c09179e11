// The parts of a device's memory bar, left to right. Pure.
import type { Device } from "../data/types";

export interface BarPart {
  share: string;
  name: string;
  start: number; // permille of the bar's length
  width: number;
  used: number; // permille of the bar's length, of this part, resident
  swapped: number;
}

export interface MemoryBar {
  parts: BarPart[];
  other: number; // permille: used by the driver's count and by no tenant; 0 where it is not known
  physical: number; // permille at which the device's memory ends (below 1000 when more is promised)
  scaleBytes: number;
}

export function memoryBar(device: Device): MemoryBar {
  const parts = device.parts ?? [];
  const promised = parts.reduce((sum, part) => sum + (part.limit_bytes ?? part.used_bytes ?? 0), 0);
  const resident = parts.reduce((sum, part) => sum + (part.resident_bytes ?? part.used_bytes ?? 0), 0);
  const total = device.memory_total_bytes ?? 0;
  const known = parts.every((part) => (part.resident_bytes ?? part.used_bytes) != null);
  const otherBytes = device.memory_used_bytes == null || !known ? 0 : Math.max(0, device.memory_used_bytes - resident);
  const scaleBytes = Math.max(total, promised + otherBytes, 1);
  const permille = (bytes: number): number => (bytes / scaleBytes) * 1000;
  let start = 0;
  const drawn = parts.map((part) => {
    const limit = part.limit_bytes ?? part.used_bytes ?? 0;
    const width = permille(limit);
    const used = Math.min(width, permille(part.resident_bytes ?? part.used_bytes ?? 0));
    const swapped = Math.min(width - used, permille(part.swapped_bytes ?? 0));
    const result = { share: part.share, name: part.name, start, width, used, swapped };
    start += width;
    return result;
  });
  return { parts: drawn, other: permille(otherBytes), physical: permille(total), scaleBytes };
}
