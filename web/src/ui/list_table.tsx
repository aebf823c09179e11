// A long list as a table: a sticky head, and only the rows in the document that are seen.
import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Row } from "../core/delta";
import { t } from "../core/i18n";
import { nextSort, sortDirection } from "../core/list_query";
import { kRowHeight, scrollToRow, visibleRows } from "../core/virtual_rows";
import type { ListModel } from "../data/list_model";
import { params, setParams } from "../data/router";
import { Icon } from "./icons";
import { usePageKeys } from "./keyboard";

export interface Column<T> {
  key: string;
  title: string;
  width: number; // px, the least that is readable
  narrow?: number; // the least width on a phone
  wordless?: boolean; // there, its head and words are for screen readers only
  grow?: number; // part of the width that is left
  rank: number; // 1 is always shown; larger ranks leave first on narrow screens
  amount?: boolean; // right-aligned, sorted descending first
  sort?: string; // the API's field
  cell(row: T): ComponentChildren;
  csv?(row: T): string | number | null | undefined;
}

interface ListTableProps<T extends Row> {
  model: Pick<ListModel<T>, "rows" | "total" | "want">;
  columns: Column<T>[]; // the first column holds the row's name
  label: string;
  link?(row: T): string | null; // null: of this row there is no page
  onPick?(row: T): void; // instead of a link
  picked?: string | null;
}

const kGap = 16;
const kHead = 34;
const kNarrow = 520; // px

const isNarrow = (width: number): boolean => width < kNarrow;

function leastWidth<T>(column: Column<T>, width: number): number {
  return isNarrow(width) ? (column.narrow ?? column.width) : column.width;
}

// The columns for which there is room; the ones with the largest rank leave first.
export function fittingColumns<T>(columns: readonly Column<T>[], width: number): Column<T>[] {
  let shown = [...columns];
  const needed = (): number => shown.reduce((sum, column) => sum + leastWidth(column, width) + kGap, kGap);
  while (needed() > width) {
    const worst = shown.reduce((a, b) => (b.rank >= a.rank ? b : a));
    if (worst.rank <= 1) break;
    shown = shown.filter((column) => column !== worst);
  }
  return shown;
}

export function ListTable<T extends Row>(props: ListTableProps<T>): JSX.Element {
  const { model, columns, label } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const scrollTop = useSignal(0);
  const size = useSignal({ width: 1000, height: 600 });
  const focusRow = useSignal<number | null>(null);
  const active = useRef(-1);
  useSize(scroller, (next) => { size.value = next; });

  const total = Math.max(model.total.value, model.rows.value.length);
  const range = visibleRows(scrollTop.value, size.value.height - kHead, total);
  useEffect(() => model.want(range.end), [range.end, total]);
  useEffect(() => usePageKeys({
    move: (step) => {
      const next = Math.max(0, Math.min(model.rows.value.length - 1, active.current + step));
      const box = scroller.current;
      if (!box || model.rows.value.length === 0) return;
      active.current = next;
      box.scrollIntoView({ block: "nearest" });
      box.scrollTop = scrollToRow(next, box.scrollTop, box.clientHeight - kHead);
      scrollTop.value = box.scrollTop;
      focusRow.value = next;
    },
  }), [model]);
  const focus = focusRow.value; // read here, so that a change draws the table
  useLayoutEffect(() => {
    if (focus === null) return;
    const row = scroller.current?.querySelector<HTMLElement>(`[data-row="${focus}"]`);
    const target = row?.querySelector<HTMLElement>(".row-link") ?? row;
    if (target) {
      target.focus({ preventScroll: true });
      focusRow.value = null;
    }
  });

  const shown = fittingColumns(columns, size.value.width);
  const tracks = shown.map((column) => {
    const least = leastWidth(column, size.value.width);
    return `minmax(${least}px, ${column.grow ? `${column.grow}fr` : `${least}px`})`;
  });
  const rows = model.rows.value;
  const indices = Array.from({ length: range.end - range.first }, (_, index) => range.first + index);
  return (
    <div class="table-scroll" ref={scroller} onScroll={(event) => { scrollTop.value = event.currentTarget.scrollTop; }}>
      <div class={isNarrow(size.value.width) ? "list-table narrow" : "list-table"} role="table" aria-label={label} aria-rowcount={total + 1}
        style={{ "--tracks": tracks.join(" ") }}>
        <Head columns={shown} />
        <div class="table-body" role="rowgroup" style={{ height: `${total * kRowHeight}px` }}>
          {indices.map((index) => (
            <TableRow key={rows[index]?.id ?? `empty-${index}`} row={rows[index]} index={index} {...props} columns={shown}
              onFocus={() => { active.current = index; }} />
          ))}
        </div>
      </div>
    </div>
  );
}

function useSize(ref: RefObject<HTMLDivElement | null>, take: (size: { width: number; height: number }) => void): void {
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const measure = (): void => {
      // The height that the box may have, not the one that it has with few rows.
      take({ width: element.clientWidth, height: Math.max(element.clientHeight, 200) });
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
}

function Head<T>({ columns }: { columns: Column<T>[] }): JSX.Element {
  const sort = params.value.get("sort") ?? "";
  const sortBy = (column: Column<T>): void => {
    const next = new URLSearchParams(params.value);
    const value = nextSort(sort, column.sort ?? "", column.amount ?? false);
    if (value) next.set("sort", value);
    else next.delete("sort");
    setParams(next);
  };
  return (
    <div class="table-head" role="rowgroup">
      <div class="table-row head" role="row" aria-rowindex={1}>
        {columns.map((column) => {
          const direction = column.sort ? sortDirection(sort, column.sort) : "none";
          return (
            <div key={column.key} role="columnheader" class={cellClass(column)}
              aria-sort={column.sort ? direction : undefined}>
              {column.sort ? (
                <button type="button" class="sort" onClick={() => sortBy(column)}>
                  <span>{column.title}</span>
                  {direction !== "none" && <Icon name={direction === "ascending" ? "up" : "down"} />}
                </button>
              ) : column.title}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function cellClass<T>(column: Column<T>): string | undefined {
  return column.amount ? "amount" : column.wordless ? "may-narrow" : undefined;
}

interface TableRowProps<T extends Row> extends ListTableProps<T> {
  row: T | undefined;
  index: number;
  onFocus(): void;
}

function TableRow<T extends Row>({ row, index, columns, link, onPick, picked, onFocus }: TableRowProps<T>): JSX.Element {
  const style = { transform: `translateY(${index * kRowHeight}px)` };
  if (!row) {
    return (
      <div class="table-row" role="row" aria-rowindex={index + 2} style={style}>
        <div role="cell"><span class="skeleton" /><span class="sr-only">{t("state.loading")}</span></div>
      </div>
    );
  }
  const isPicked = picked === row.id;
  const to = link?.(row);
  return (
    <div class={`table-row${isPicked ? " picked" : ""}`} role="row" aria-rowindex={index + 2} data-row={index}
      tabIndex={to || onPick ? undefined : -1} style={style}>
      {columns.map((column, place) => (
        <div key={column.key} role="cell" class={cellClass(column)}>
          {place > 0 ? column.cell(row) : to ? (
            <a class="row-link" href={to} onFocus={onFocus}>{column.cell(row)}</a>
          ) : onPick ? (
            <button type="button" class="row-link" aria-pressed={isPicked} onFocus={onFocus} onClick={() => onPick(row)}>
              {column.cell(row)}
            </button>
          ) : column.cell(row)}
        </div>
      ))}
    </div>
  );
}
