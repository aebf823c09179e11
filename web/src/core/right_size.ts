// Advice for the size of shares: the order of rows, the filter, the change to copy. Pure.
import type { RightSizeItem } from "../data/types";
import { bytesOption } from "./units";
import { sortedRows } from "./usage";

const kHourMs = 3_600_000;
const kMebi = 1024 * 1024;

// Days to choose from; the first one is that of the API.
export const kDays: readonly string[] = ["14", "3", "7", "30", "90", "400"];
// Words of the filter beside those of names.
export const kIdleWord = "idle:1h";
export const kAdviceWord = "state:advice";

export interface RightSizeRow extends RightSizeItem {
  id: string;
}

// A share that has been idle for more than an hour; where that is not known it is not.
export const isIdle = ({ idle_ms }: RightSizeItem): boolean => idle_ms != null && idle_ms > kHourMs;
export const hasAdvice = ({ advised_bytes, advised_cores }: RightSizeItem): boolean => advised_bytes != null || advised_cores != null;

// The rows of which the key, team or queue has all words, by `sort`: "field" or "-field". Without a sort the order stays.
export function rightSizeRows(items: readonly RightSizeItem[], sort: string, words: readonly string[]): RightSizeRow[] {
  const has = (item: RightSizeItem, word: string): boolean => {
    if (word === kIdleWord) return isIdle(item);
    if (word === kAdviceWord) return hasAdvice(item);
    return `${item.key} ${item.team} ${item.queue}`.toLowerCase().includes(word.toLowerCase());
  };
  const rows = items.filter((item) => words.every((word) => has(item, word))).map((item) => ({ ...item, id: item.key }));
  return sortedRows(rows, sort);
}

// The change of a row: lines of a manifest in a cluster, a command on one machine. null: there is none.
export function changeOf(item: RightSizeItem, cluster: boolean): string | null {
  const { advised_bytes: bytes, advised_cores: cores } = item;
  if (!hasAdvice(item)) return null;
  if (!cluster) {
    return `divvy resize ${shellWord(item.key)}${bytes == null ? "" : ` --memory ${bytesOption(bytes)}`}${cores == null ? "" : ` --cores ${cores}`}`;
  }
  const mebibytes = Math.ceil((bytes ?? 0) / kMebi);
  return `resources:
  limits:
${bytes == null ? "" : `    divvy.dev/gpumem: ${mebibytes}Mi  # or nvidia.com/gpumem: ${mebibytes}\n`}${
  cores == null ? "" : `    divvy.dev/gpucores: ${cores}  # or nvidia.com/gpucores: ${cores}\n`}`;
}

// A name of a user as one word of a shell.
function shellWord(text: string): string {
  return /^[\w./:][\w./:@%+=-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
