// Requests that wait, their position and reason, and what would fit.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { t } from "../core/i18n";
import { params, setParams } from "../data/router";
import type { ExplainRequest, Waiting } from "../data/types";
import { Explain } from "../ui/explain";
import { Icon } from "../ui/icons";
import { ListPage } from "../ui/list_page";
import type { Column } from "../ui/list_table";
import { Nothing } from "../ui/states";
import { Ago, Count, Name, NotKnown, Sentence, State } from "../ui/values";

function columns(): Column<Waiting>[] {
  return [
    {
      key: "name", title: t("column.request"), width: 130, grow: 2, rank: 1, sort: "name",
      cell: (row) => <Name text={row.name || row.id} />, csv: (row) => row.name,
    },
    { key: "kind", title: t("column.state"), width: 124, narrow: 18, wordless: true, rank: 1, sort: "kind", cell: (row) => <State kind="waiting.kind" value={row.kind} />, csv: (row) => row.kind },
    {
      key: "position", title: t("column.position"), width: 60, rank: 3, amount: true, sort: "position",
      cell: (row) => <Count value={row.position} />, csv: (row) => row.position,
    },
    {
      key: "memory", title: t("column.memory"), width: 68, rank: 4, amount: true, sort: "memory",
      cell: (row) => (row.memory ? <span class="figure">{row.memory}</span> : <NotKnown />), csv: (row) => row.memory,
    },
    { key: "gpus", title: t("column.devices"), width: 64, rank: 5, amount: true, sort: "gpus", cell: (row) => <Count value={row.gpus} />, csv: (row) => row.gpus },
    {
      key: "reason", title: t("column.reason"), width: 140, grow: 4, rank: 2,
      cell: (row) => (row.reason ? <Name text={row.reason} /> : <NotKnown />), csv: (row) => row.reason,
    },
    { key: "since", title: t("column.since"), width: 92, rank: 6, cell: (row) => <Ago at={row.since_ms} />, csv: (row) => row.since_ms },
  ];
}

// The request of a waiting row. The row is kept when it leaves the list, so that the panel stays.
function requestOf(row: Waiting): ExplainRequest {
  const request: ExplainRequest = {};
  if (row.memory) request.memory = row.memory;
  if (row.gpus != null) request.gpus = row.gpus;
  if (row.cores != null) request.cores = row.cores;
  if (row.priority) request.priority = row.priority;
  return request;
}

export function WaitingPage(): JSX.Element {
  const [picked, setPicked] = useState<Waiting | null>(null);
  const pick = (row: Waiting): void => {
    setPicked(row);
    const next = new URLSearchParams(params.value);
    next.set("pick", row.id);
    setParams(next);
  };
  const close = (): void => {
    setPicked(null);
    const next = new URLSearchParams(params.value);
    next.delete("pick");
    setParams(next);
  };
  return (
    <ListPage<Waiting> kind="waiting" title={t("waiting.title")} count="count.requests" filterHint={t("waiting.filter_hint")}
      quick={[
        { label: t("waiting.kind.waits-for-room"), word: "kind:waits-for-room" },
        { label: t("waiting.kind.waits-for-quota"), word: "kind:waits-for-quota" },
        { label: t("waiting.kind.never-fits"), word: "kind:never-fits" },
      ]}
      columns={columns()} nothingTitle={t("waiting.nothing")} nothing={t("waiting.nothing_why")}
      onPick={pick} picked={picked?.id ?? params.value.get("pick")}
      onRows={(rows) => {
        const wanted = params.value.get("pick");
        const row = wanted && !picked ? rows.find((each) => each.id === wanted) : undefined;
        if (row) setPicked(row);
      }}
      side={<Panel row={picked} close={close} />} />
  );
}

function Panel({ row, close }: { row: Waiting | null; close(): void }): JSX.Element {
  const [changed, setChanged] = useState<{ id: string; request: ExplainRequest } | null>(null);
  if (!row) return <aside class="panel side"><Nothing title={t("waiting.pick")}>{t("waiting.pick_why")}</Nothing></aside>;
  const request = changed?.id === row.id ? changed.request : requestOf(row);
  return (
    <aside class="panel side" aria-label={t("waiting.would_fit")}>
      <div class="panel-head">
        <h2>{t("waiting.would_fit")}</h2>
        <button type="button" class="button quiet small" onClick={close} aria-label={t("action.close")}><Icon name="close" /></button>
      </div>
      <p class="side-name"><Name text={row.name || row.id} /></p>
      {row.reason && <p class="muted"><Sentence text={row.reason} /></p>}
      {changed?.id === row.id && (
        <p class="notice tone-neutral">
          <Icon name="info" /><span>{t("waiting.changed")}</span>
          <button type="button" class="button small" onClick={() => setChanged(null)}>{t("waiting.original")}</button>
        </p>
      )}
      <Explain request={request} onTry={(next) => setChanged({ id: row.id, request: next })} />
    </aside>
  );
}
