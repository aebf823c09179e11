// Columns of tables by the kind of their value.
import type { ComponentChildren, JSX } from "preact";
import type { Row } from "../core/delta";
import { t } from "../core/i18n";
import type { Maybe } from "../core/units";
import { isCluster } from "../data/session";
import { Meter, meterLabel } from "./bars";
import type { Column } from "./list_table";
import { Ago, Bytes, Count, Duration, Name, NotKnown, Percent, Permille } from "./values";

const kNumbers = { bytes: Bytes, count: Count, percent: Percent, permille: Permille, duration: Duration, ago: Ago };
const kWidths = { bytes: 80, count: 66, percent: 66, permille: 66, duration: 84, ago: 92, text: 100 };

// A column of one member of the row. Texts may be lists, which are joined, and may be links.
export function column<T extends Row>(
  kind: keyof typeof kWidths, field: keyof T & string, title: string, rank: number,
  { link, ...more }: Partial<Column<T>> & { link?(row: T): string } = {},
): Column<T> {
  const cell = (row: T): ComponentChildren => {
    const value = row[field] as unknown;
    if (value == null) return <NotKnown />;
    if (kind === "ago") return <Ago at={value as number} />;
    if (kind !== "text") {
      const Value = kNumbers[kind];
      return <Value value={value as number} />;
    }
    const text = Array.isArray(value) ? value.join(", ") : String(value);
    return text === "" ? null : link ? <a href={link(row)}><Name text={text} /></a> : <Name text={text} />;
  };
  const csv = (row: T): Maybe<string | number> => {
    const value = row[field] as Maybe<string | number | string[]>;
    return Array.isArray(value) ? value.join(" ") : value;
  };
  const text = kind === "text" || kind === "ago";
  return { key: field, title, width: kWidths[kind], rank, amount: !text, grow: kind === "text" ? 1 : undefined, sort: field, cell, csv, ...more };
}

interface PartRow extends Row {
  used_bytes?: Maybe<number>;
  resident_bytes?: Maybe<number>;
  swapped_bytes?: Maybe<number>;
  limit_bytes?: Maybe<number>;
  cores_percent?: Maybe<number>;
  usage_permille?: Maybe<number>;
}

// What a share has of a device.
export function partColumns<T extends PartRow>(): Column<T>[] {
  return [
    column("bytes", "used_bytes", t("column.used"), 1), column("bytes", "resident_bytes", t("column.resident"), 1),
    column("bytes", "swapped_bytes", t("column.swapped"), 1), column("bytes", "limit_bytes", t("column.limit"), 1),
    column("percent", "cores_percent", t("column.cores_of_device"), 1), column("permille", "usage_permille", t("column.got_of_device"), 1),
  ];
}

// In a cluster columns of members that no row states are left out.
export function statedColumns<T extends Row>(columns: Column<T>[], rows: T[]): Column<T>[] {
  return isCluster() ? columns.filter((column) => !column.amount || rows.some((row) => column.csv?.(row) != null)) : columns;
}

interface MemoryRow extends Row {
  memory_used_bytes?: Maybe<number>;
  memory_limits_bytes?: Maybe<number>;
  memory_total_bytes?: Maybe<number>;
}

// Memory used and allocated as a bar; without a total, of what is allocated.
export function memoryColumn<T extends MemoryRow>(title: string, sort = "memory_used_bytes"): Column<T> {
  return {
    key: "memory", title, width: 100, narrow: 72, grow: 2, rank: 1, sort,
    cell: (row): JSX.Element => {
      const { memory_used_bytes: used, memory_limits_bytes: limits } = row;
      const total = row.memory_total_bytes === undefined ? limits : row.memory_total_bytes;
      return <Meter used={used} allocated={limits} total={total} label={meterLabel(used, limits, total)} level={total !== limits} />;
    },
    csv: (row) => row.memory_used_bytes,
  };
}
