// A list of the API as a plain table on the page of the object that its rows belong to.
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { Row } from "../core/delta";
import { t } from "../core/i18n";
import { filteredLink } from "../core/paths";
import { ListModel } from "../data/list_model";
import { useRevalidation } from "./fresh";
import type { Column } from "./list_table";
import { EmptyList, Failure, Loading } from "./states";

interface ShortListProps<T extends Row> {
  kind: string; // of the API
  title: string;
  filters: string[]; // "member=text"
  columns: Column<T>[]; // the first one holds the row's name
  nothing: string;
  why?: string; // explains an empty list
  link?(row: T): string;
  draw?(rows: T[]): JSX.Element; // instead of the table
}

const kShown = 100;
const kMaxRank = 5; // of columns; the others are on the page of the list

export function ShortList<T extends Row>(props: ShortListProps<T>): JSX.Element {
  const { kind, title, filters, columns, link, draw } = props;
  const key = filters.join("\n");
  const model = useMemo(() => new ListModel<T>(kind), [kind, key]);
  useEffect(() => {
    model.setQuery({ filters });
    return () => model.dispose();
  }, [model]);
  useRevalidation(model);
  const rows = model.rows.value;
  const ready = model.state.value === "ready";
  return (
    <section class="panel" aria-label={title}>
      <div class="panel-head">
        <h2>{title}</h2>
        {rows.length > 0 && <a href={filteredLink(kind, ...filters)}>{t("list.all", { n: model.total.value })}</a>}
      </div>
      {model.state.value === "loading" && <Loading rows={3} />}
      {model.state.value === "failed" && model.failure.value && <Failure failure={model.failure.value} />}
      {ready && rows.length === 0 && <EmptyList list={kind} filters={filters} title={props.nothing}>{props.why}</EmptyList>}
      {ready && rows.length > 0 && (draw?.(rows) ?? <RowTable rows={rows.slice(0, kShown)} columns={columns.filter(({ rank }) => rank <= kMaxRank)} label={title} link={link} />)}
    </section>
  );
}

interface RowTableProps<T extends Row> {
  rows: T[];
  columns: Column<T>[];
  label: string;
  link?(row: T): string;
}

export function RowTable<T extends Row>({ rows, columns, label, link }: RowTableProps<T>): JSX.Element {
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label={label}>
      <table class="plain">
        <thead>
          <tr>{columns.map((column) => <th key={column.key} scope="col" class={column.amount ? "amount" : undefined}>{column.title}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id}>
              {columns.map((column, place) => (place > 0 ? (
                <td key={column.key} class={column.amount ? "amount" : undefined}>{column.cell(row)}</td>
              ) : (
                <th key={column.key} scope="row">{link ? <a href={link(row)}>{column.cell(row)}</a> : column.cell(row)}</th>
              )))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
