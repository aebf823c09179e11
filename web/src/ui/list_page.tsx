// What list pages have in common: model, filter, states, count, copy.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { csvText } from "../core/csv";
import type { Row } from "../core/delta";
import { t, tn } from "../core/i18n";
import { parseListQuery } from "../core/list_query";
import { ListModel } from "../data/list_model";
import { params } from "../data/router";
import { hiddenFor } from "../data/session";
import { useRevalidation } from "./fresh";
import { useColumns } from "./columns";
import { type Column, ListTable } from "./list_table";
import { EmptyList, Failure, Freshness, Loading, Nothing } from "./states";
import { CopyButton, FilterBox, type QuickFilter, QuickFilters, setFilters, Toolbar } from "./toolbar";

export interface ListPageProps<T extends Row> {
  kind: string; // of the API
  title: string;
  count: string; // text key of the count, with .one and .other
  filterHint: string;
  quick?: QuickFilter[];
  columns: Column<T>[];
  nothing: ComponentChildren; // explains an empty list
  nothingTitle: string;
  defaultSort?: string;
  link?(row: T): string;
  onPick?(row: T): void;
  picked?: string | null;
  side?: ComponentChildren; // beside the table
  withRange?: boolean;
  onRows?(rows: readonly T[]): void; // called when rows changed
}

export function useListModel<T extends Row>(kind: string, defaultSort = "", withRange = false): ListModel<T> {
  const model = useMemo(() => new ListModel<T>(kind), [kind]);
  useEffect(() => () => model.dispose(), [model]);
  const search = params.value.toString();
  useEffect(() => {
    const query = parseListQuery(new URLSearchParams(search));
    model.setQuery({
      filters: query.filters, sort: query.sort || defaultSort,
      ...(withRange ? { from: query.from, to: query.to } : {}),
    });
  }, [model, search]);
  useRevalidation(model);
  return model;
}

export function ListPage<T extends Row>(props: ListPageProps<T>): JSX.Element {
  const model = useListModel<T>(props.kind, props.defaultSort, props.withRange);
  const rows = model.rows.value;
  const total = model.total.value;
  const hidden = hiddenFor(props.kind);
  const { shown, menu } = useColumns(props.kind, props.columns);
  useEffect(() => props.onRows?.(rows), [rows]);
  const copy = (): string => csvText([
    props.columns.map((column) => column.title),
    ...model.rows.value.map((row) => props.columns.map((column) => column.csv?.(row) ?? null)),
  ]);
  return (
    <div class="page page-list">
      <header class="page-head">
        <h1>{props.title}</h1>
        {model.state.value === "ready" && !(hidden && total === 0) && <p class="count figure">{tn(props.count, total)}{hidden && `, ${t("scope.of_seen")}`}</p>}
        <span class="spring" />
        {menu}
        <CopyButton text={copy} label={t("action.copy_csv")} />
      </header>
      <Toolbar>
        <FilterBox label={t("list.filter_label")} hint={props.filterHint} />
        {props.quick && <QuickFilters filters={props.quick} />}
      </Toolbar>
      <Freshness dataTime={model.dataTime.value} sources={model.sources.value} />
      <div class={props.side ? "split" : "whole"}>
        <ListBody model={model} {...props} columns={shown} />
        {props.side}
      </div>
    </div>
  );
}

function ListBody<T extends Row>(props: ListPageProps<T> & { model: ListModel<T> }): JSX.Element {
  const { model } = props;
  const failure = model.failure.value;
  if (model.state.value === "loading") return <Loading rows={10} />;
  if (model.state.value === "failed" && failure) return <Failure failure={failure} retry={() => model.refresh()} />;
  const filtered = params.value.getAll("filter").length > 0;
  if (model.total.value === 0 && model.rows.value.length === 0) {
    return filtered ? (
      <Nothing title={t("list.no_match")}>
        <button type="button" class="button" onClick={() => setFilters([])}>{t("list.clear_filter")}</button>
      </Nothing>
    ) : <EmptyList list={props.kind} title={props.nothingTitle}>{props.nothing}</EmptyList>;
  }
  return (
    <ListTable model={model} columns={props.columns} label={props.title} link={props.link} onPick={props.onPick}
      picked={props.picked} />
  );
}
