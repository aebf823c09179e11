// Pods that wait; and one pod: why it waits, what would help, the nodes by reason.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { t, tn, tOf } from "../../core/i18n";
import { deviceLink, filteredLink, idPath, nodeLink, queueLink, shareLink, waitingLink, workloadLink } from "../../core/paths";
import { type Explanation, groupReasons, otherGates, type NodeReason, type ReasonGroup } from "../../core/reasons";
import { hiddenCollections } from "../../core/scope";
import type { Maybe } from "../../core/units";
import type { ExplainPodAnswer } from "../../data/cluster_types";
import { ListModel } from "../../data/list_model";
import { limitedScope } from "../../data/session";
import type { Share, Waiting } from "../../data/types";
import { useAnswer } from "../../data/use_answer";
import { column } from "../../ui/cells";
import { RecentEvents } from "../../ui/event_list";
import { useRevalidation } from "../../ui/fresh";
import { Icon } from "../../ui/icons";
import { ListPage } from "../../ui/list_page";
import type { Column } from "../../ui/list_table";
import { ShortList } from "../../ui/short_list";
import { Failure, Freshness, Hidden, Loading, Nothing } from "../../ui/states";
import { Ago, Count, Links, Name, Sentence, State } from "../../ui/values";
import { shareColumns } from "../shares";

const podName = (id: string): string => id.slice(id.indexOf("/") + 1);

export function waitingColumns(): Column<Waiting>[] {
  return [
    column("text", "name", t("fact.pod"), 1, { width: 120, grow: 2, cell: (row) => <Name text={podName(row.id)} /> }),
    column("text", "kind", t("column.state"), 1, {
      width: 128, grow: undefined, cell: (row) => <State kind="waiting.kind" value={row.kind} />,
    }),
    column("text", "namespace", t("column.namespace"), 2, { width: 84 }),
    column("text", "owner", t("column.owner"), 4, { width: 120, link: (row) => workloadLink(row.namespace ?? "", row.owner ?? "") }),
    column("text", "queue", t("column.queue"), 3, { width: 80, link: (row) => queueLink(row.queue ?? "") }),
    column("count", "position", t("column.position"), 6),
    column("count", "priority_value", t("column.priority"), 8),
    column("count", "gpus", t("column.devices"), 7),
    column("text", "memory", t("column.memory"), 7, { width: 68, grow: undefined, amount: true }),
    column("text", "reason", t("column.reason"), 5, { width: 140, grow: 4, sort: undefined }),
    column("ago", "since_ms", t("column.since"), 2),
  ];
}

export function WaitingPodsPage(): JSX.Element {
  return (
    <ListPage<Waiting> kind="waiting" title={t("waiting.title")} count="count.waiting_pods" filterHint={t("waiting.filter_hint")}
      quick={["waits-for-room", "waits-for-quota", "never-fits", "held", "unscheduled"]
        .map((kind) => ({ label: tOf("waiting.kind.", kind), word: `kind:${kind}` }))}
      columns={waitingColumns()} nothingTitle={t("waiting.nothing_pod")} nothing={t("waiting.nothing_pod_why")}
      link={(row) => waitingLink(row.id)} />
  );
}

export function WaitingPodPage({ id }: { id: string }): JSX.Element {
  // A list: a pod that is bound is in none, and is explained nevertheless.
  const model = useMemo(() => new ListModel<Waiting>("waiting"), [id]);
  useEffect(() => {
    model.setQuery({ filters: [`id=${id}`] });
    return () => model.dispose();
  }, [model]);
  useRevalidation(model);
  const row = model.rows.value.find((each) => each.id === id) ?? null;
  const { answer, failure, reload } = useAnswer<ExplainPodAnswer>(`waiting/${idPath(id)}/explain`, `${row?.kind} ${row?.reason}`);
  const explanation = answer?.explanation;
  const hold = explanation ? holdOf(explanation, row) : null;
  return (
    <div class="page">
      <nav class="crumbs" aria-label={t("nav.path")}><a href="waiting">{t("waiting.title")}</a><span aria-hidden="true">/</span><Name text={podName(id)} /></nav>
      <header class="page-head">
        <h1><Name text={podName(id)} /></h1>
        <span class="spring" />
        <button type="button" class="button quiet" onClick={reload}>{t("waiting.again")}</button>
        <Lead id={id} row={row} />
      </header>
      <Freshness dataTime={model.dataTime.value} sources={model.sources.value} />
      {failure && <Failure failure={failure} retry={reload} />}
      {!failure && !explanation && <Loading rows={8} />}
      {explanation && (
        <div class="stack">
          <Verdict explanation={explanation} row={row} hold={hold} />
          {!hold && <Help explanation={explanation} />}
          <Reasons explanation={explanation} hold={hold} />
          {hold === "quota" && <Help explanation={explanation} held />}
          {explanation.bound && (
            <ShortList<Share> kind="shares" title={t("shares.title")} filters={[`name=${id}`]}
              columns={shareColumns()} nothing={t("shares.nothing")} link={(share) => shareLink(share.id)} />
          )}
          <RecentEvents filter={`name=${id}`} />
        </div>
      )}
    </div>
  );
}

function Lead({ id, row }: { id: string; row: Waiting | null }): JSX.Element {
  const namespace = id.slice(0, id.indexOf("/"));
  const part = (title: string, value: ComponentChildren): JSX.Element | null =>
    (value ? <span class="muted">{title} {value}</span> : null);
  const linked = (text: Maybe<string>, link: (text: string) => string): ComponentChildren =>
    text && <a href={link(text)}><Name text={text} /></a>;
  return (
    <p class="lead">
      {row && <State kind="waiting.kind" value={row.kind} />}
      {part(t("column.namespace"), <a href={filteredLink("waiting", `namespace=${namespace}`)}><Name text={namespace} /></a>)}
      {part(t("column.owner"), linked(row?.owner, (text) => workloadLink(namespace, text)))}
      {part(t("column.queue"), linked(row?.queue, queueLink))}
      {part(t("column.position"), row?.position != null && <Count value={row.position} />)}
      {part(t("column.since"), row?.since_ms != null && <Ago at={row.since_ms} />)}
    </p>
  );
}

// Whether the pod waits for something else than room; then smaller requests do not help first.
type Hold = "gate" | "quota" | null;

function holdOf(explanation: Explanation, row: Waiting | null): Hold {
  if (explanation.bound || explanation.asks_for_devices === false) return null;
  if (otherGates(explanation).length > 0 || row?.kind === "held") return "gate";
  return explanation.gated || row?.kind === "waits-for-quota" ? "quota" : null;
}

function Verdict({ explanation, row, hold }: { explanation: Explanation; row: Waiting | null; hold: Hold }): JSX.Element {
  const { bound, asks_for_devices: asks, gated, fits, node } = explanation;
  const [tone, icon, text] = bound ? ["good", "ok", t("pod.bound")] as const
    : asks === false ? ["neutral", "info", t("pod.no_devices")] as const
      : hold ? ["waiting", "warning", hold === "gate" ? t("pod.held") : fits ? t("pod.quota_fits") : t("pod.quota")] as const
        : fits ? ["good", "ok", node ? t("pod.fits") : t("explain.fits")] as const
          : fits == null ? ["neutral", "info", t("value.not_known")] as const
            : row?.kind === "never-fits" || explanation.never_fits ? ["broken", "critical", t("explain.never")] as const
              : ["waiting", "warning", t("pod.fits_nowhere")] as const;
  const { told, idle, other_scheduler: scheduler, device_class_hazard: hazard, models_asked: models } = explanation;
  const notes: [string, Maybe<string>][] = [
    [t("pod.told"), told], [t("pod.idle"), idle], [t("pod.scheduler"), scheduler], [t("pod.hazard"), hazard],
    ...Object.entries(models ?? {}).map(([key, value]): [string, string] => [t("pod.models"), `${key}: ${value}`]),
  ];
  return (
    <div class={`verdict tone-${tone}`} role="status">
      <p class="verdict-title">
        <Icon name={icon} /><span>{text}</span>
        {hold === "gate" && <Name text={otherGates(explanation).join(", ")} />}{!hold && node && <a href={nodeLink(node)}><Name text={node} /></a>}
      </p>
      {gated && <p class="verdict-text"><Sentence text={gated} /></p>}
      {notes.map(([title, note]) => note && <p class="verdict-text" key={title + note}>{title} <Sentence text={note} /></p>)}
    </div>
  );
}

function Help({ explanation, held }: { explanation: Explanation; held?: boolean }): JSX.Element | null {
  const { fixes, would_fit_without: victims, bound, asks_for_devices: asks, limited } = explanation;
  const nothing = !fixes?.length && !victims?.length;
  if (bound || asks === false || explanation.fits || (held && nothing)) return null;
  return (
    <section class="panel" aria-labelledby="help-panel-title">
      <div class="panel-head"><h2 id="help-panel-title">{t("pod.help")}</h2></div>
      {nothing && (limited ? <Nothing title={t("pod.no_smaller")}>{t("pod.no_smaller_why")}</Nothing>
        : <Nothing title={t("pod.no_help")}>{t("pod.no_help_why")}</Nothing>)}
      <ul class="fixes">
        {fixes?.map(({ change, node, nodes }) => (
          <li key={change + node}>
            <strong><Sentence text={change} /></strong>
            <span class="muted">
              {nodes != null && tn("count.fits_nodes", nodes)}{node && <>, {t("pod.such_as")} <a href={nodeLink(node)}><Name text={node} /></a></>}
            </span>
          </li>
        ))}
      </ul>
      {!!victims?.length && (
        <>
          <h3 class="gap">{t("pod.without")}</h3>
          <Links names={victims} link={(victim) => filteredLink("shares", `name=${victim}`)} />
        </>
      )}
    </section>
  );
}

function Reasons({ explanation, hold }: { explanation: Explanation; hold: Hold }): JSX.Element | null {
  const groups = groupReasons(explanation);
  if (groups.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="reasons-title">
      <div class="panel-head"><h2 id="reasons-title">{t("pod.reasons")}</h2></div>
      {explanation.limited && <Limited />}
      {groups.map((group) => <Group key={group.saidBy + group.why} group={group} fits={hold ? t("pod.would_fit") : t("explain.fits")} />)}
    </section>
  );
}

// All viewers of the pod see numbers of nodes; names need the right to list all nodes and pods.
function Limited(): JSX.Element {
  const hidden = hiddenCollections(limitedScope());
  const named = hidden.filter((each) => each === "nodes" || each === "pods");
  return (
    <div class="note limited">
      <p>{t("pod.limited")}</p>
      {(named.length > 0 ? named : hidden).map((each) => <Hidden key={each} collection={each} />)}
    </div>
  );
}

const kMaxNodes = 100;

function Group({ group, fits: word }: { group: ReasonGroup; fits: string }): JSX.Element {
  const [open, setOpen] = useState(false);
  const fits = group.nodes[0]?.fits;
  const head = (
    <>
      <strong class="figure">{tn("count.nodes", group.count)}</strong>{" "}
      {fits ? <span class="state tone-good"><Icon name="ok" /><span>{word}</span></span> : <Sentence text={group.why || t("value.not_known")} />}
      {group.saidBy && <span class="muted"> ({group.saidBy})</span>}
    </>
  );
  if (group.nodes.length === 0) return <p class="reason">{head}</p>;
  return (
    <details class="reason" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{head}</summary>
      {open && (
        <div class="scroll-x" tabIndex={0} role="region" aria-label={group.why || word}>
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">{t("column.node")}</th><th scope="col">{t("column.device")}</th><th scope="col">{t("column.reason")}</th>
              </tr>
            </thead>
            <tbody>{group.nodes.slice(0, kMaxNodes).map((node) => <NodeLines key={node.node} node={node} />)}</tbody>
          </table>
          {group.nodes.length > kMaxNodes && <p class="note">{t("pod.more_nodes", { n: group.nodes.length - kMaxNodes })}</p>}
        </div>
      )}
    </details>
  );
}

function NodeLines({ node }: { node: NodeReason }): JSX.Element {
  const devices = node.devices?.length ? node.devices : [null];
  return (
    <>
      {devices.map((device, at) => (
        <tr key={device?.uuid ?? ""}>
          <th scope="row">{at === 0 && <a href={nodeLink(node.node)}><Name text={node.node} /></a>}</th>
          <td>{device && <a href={deviceLink(`${node.node}/${device.uuid}`)}><Name text={device.uuid} /></a>}</td>
          <td>{device?.why && <Sentence text={device.why} />}</td>
        </tr>
      ))}
    </>
  );
}
