// What the form of a queue sends: only what differs from what the queue states now. Pure.
import type { QueueAmount, QueueAmounts } from "./queue_bars";
import { bytesOption, type Maybe, parseBytes } from "./units";

const kMebi = 1024 ** 2;

export const kAmountFields = ["guarantee_devices", "guarantee_memory", "limit_devices", "limit_memory"] as const;
export type AmountField = (typeof kAmountFields)[number];
export type AmountRow = { model: string } & Record<AmountField, string>;

export interface QueueValues {
  rows: AmountRow[]; // the first one is of all models
  weight: string;
  borrows: boolean;
}

interface QueueNow extends Pick<QueueAmounts, "guarantee" | "limit"> {
  weight?: Maybe<number>;
  borrows?: Maybe<boolean>;
}

export const emptyRow = (model: string): AmountRow => ({ model, guarantee_devices: "", guarantee_memory: "", limit_devices: "", limit_memory: "" });

// What a queue states, as the form's texts; "" states nothing.
export function queueValues(queue: QueueNow): QueueValues {
  const models = new Set(["*", ...[...(queue.guarantee ?? []), ...(queue.limit ?? [])].map(({ model }) => model).sort()]);
  const rows = [...models].map((model) => {
    const row = emptyRow(model);
    for (const part of ["guarantee", "limit"] as const) {
      const stated = queue[part]?.find((each) => each.model === model);
      if (stated?.devices_milli != null) row[`${part}_devices`] = String(stated.devices_milli / 1000);
      if (stated?.memory_bytes != null) row[`${part}_memory`] = bytesOption(stated.memory_bytes);
    }
    return row;
  });
  return { rows, weight: queue.weight == null ? "" : String(queue.weight), borrows: queue.borrows ?? true };
}

const isDevices = (text: string): boolean => text === "" || /^\d{1,9}(?:\.\d{1,3})?$/.test(text);
const isMemory = (text: string): boolean => text === "" || parseBytes(text) !== null;

// Whether a field's text is no amount.
export const isWrongAmount = (field: AmountField, text: string): boolean =>
  !(field.endsWith("_devices") ? isDevices : isMemory)(text.trim());

const isStated = (row: AmountRow): boolean => kAmountFields.some((field) => row[field].trim() !== "");

// Whether rows with amounts lack a model, or share one.
export function hasWrongModel(rows: readonly AmountRow[]): boolean {
  const models = rows.filter(isStated).map(({ model }) => model.trim());
  return models.includes("") || new Set(models).size < models.length;
}

function amountsOf(rows: readonly AmountRow[], part: "guarantee" | "limit"): QueueAmount[] {
  return rows.map((row) => {
    const [devices, memory] = [row[`${part}_devices`].trim(), parseBytes(row[`${part}_memory`])];
    return {
      model: row.model.trim(), devices_milli: devices === "" ? null : Math.round(Number(devices) * 1000),
      memory_bytes: memory === null ? null : Math.ceil(memory / kMebi) * kMebi, // MiB is what a queue counts in
    };
  }).filter((amount) => amount.devices_milli !== null || amount.memory_bytes !== null);
}

// What differs, as `to` of a change of a queue; null: nothing. No field may be wrong.
export function queueChangeOf(values: QueueValues, queue: QueueNow): Record<string, unknown> | null {
  const now = queueValues(queue);
  const to: Record<string, unknown> = {};
  for (const part of ["guarantee", "limit"] as const) {
    const amounts = amountsOf(values.rows, part);
    const text = (all: QueueAmount[]): string => JSON.stringify([...all].sort((a, b) => (a.model < b.model ? -1 : 1)));
    if (text(amounts) !== text(amountsOf(now.rows, part))) to[part] = amounts;
  }
  if (values.weight !== "" && values.weight !== now.weight) to.weight = Number(values.weight);
  if (values.borrows !== now.borrows) to.borrows = values.borrows;
  return Object.keys(to).length ? to : null;
}
