// The fleet picture: a cell per device, filled by used memory, outlined by allocated memory, hatched where unhealthy.
// Where use is not known, a cell shows what is allocated.
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { t, tOf } from "../core/i18n";
import { deviceLink, nodeLink } from "../core/paths";
import { formatPercent, ratioPercent } from "../core/units";
import { ListModel } from "../data/list_model";
import { isCluster } from "../data/session";
import type { Device } from "../data/types";
import { amountText, Legend, useText } from "./bars";
import { useRevalidation } from "./fresh";
import { Icon } from "./icons";
import { EmptyList, Failure, Loading } from "./states";
import { Name } from "./values";

const kMaxCells = 1600;
const kPageSize = 500;
const kFields = "node,index,model,state,memory_total_bytes,memory_limits_bytes,memory_used_bytes,utilisation_percent";
const kManyNodes = 24; // above it nodes stand beside each other
const kMaxLarge = 96; // devices; above it cells are small and without text

export function Fleet(): JSX.Element {
  const model = useMemo(() => new ListModel<Device>("devices", kPageSize, kFields), []);
  useEffect(() => {
    model.setQuery({ sort: "node" });
    return () => model.dispose();
  }, [model]);
  useRevalidation(model);
  const total = model.total.value;
  useEffect(() => model.want(Math.min(total, kMaxCells)), [model, total]);
  const devices = model.rows.value.slice(0, kMaxCells).sort((one, two) => Number(one.node > two.node) - Number(one.node < two.node) || one.index - two.index);
  const nodes = new Map<string, Device[]>();
  for (const device of devices) nodes.set(device.node, [...(nodes.get(device.node) ?? []), device]);
  const cluster = isCluster();
  const large = total <= kMaxLarge && !cluster;
  return (
    <section class="panel" aria-label={t("fleet.title")}>
      <div class="panel-head">
        <h2>{t("fleet.title")}</h2>
        <Legend names={["allocated", "used", ...(cluster ? ["cordoned", "unknown"] as const : ["compute"] as const), "unhealthy"]} />
      </div>
      {model.state.value === "loading" && <Loading rows={3} />}
      {model.state.value === "failed" && model.failure.value && <Failure failure={model.failure.value} retry={() => model.refresh()} />}
      {model.state.value === "ready" && total === 0 && <EmptyList list="devices" title={t("devices.nothing")}>{t("devices.nothing_why")}</EmptyList>}
      <div class={cluster && nodes.size > kManyNodes ? "fleet-many" : undefined}>
        {[...nodes].map(([node, list]) => (
          <div class={cluster ? "fleet-node fleet-line" : "fleet-node"} key={node}>
            {cluster ? <h3><a href={nodeLink(node)}><Name text={node} /></a></h3> : nodes.size > 1 && <h3><Name text={node} /></h3>}
            <ul class={large ? "fleet large" : "fleet small"}>
              {list.map((device) => <li key={device.id}><Cell device={device} large={large} /></li>)}
            </ul>
          </div>
        ))}
      </div>
      {total > kMaxCells && <p class="note"><a href="devices">{t("list.all", { n: total })}</a></p>}
    </section>
  );
}

function Cell({ device, large }: { device: Device; large: boolean }): JSX.Element {
  const used = ratioPercent(device.memory_used_bytes, device.memory_total_bytes);
  const allocated = ratioPercent(device.memory_limits_bytes, device.memory_total_bytes);
  const healthy = device.state === "healthy";
  const label = t("fleet.cell", {
    index: device.index, model: device.model ?? t("value.not_known"), state: tOf("device.state.", device.state),
    used: useText(used, formatPercent), allocated: amountText(allocated, formatPercent), compute: useText(device.utilisation_percent, formatPercent, true),
  });
  return (
    <a class={`cell${healthy ? "" : " unhealthy"}${used === null && allocated === null && isCluster() ? " unknown" : ""}`} href={deviceLink(device.id)} title={label}>
      <span class="sr-only">{label}</span>
      <CellPicture used={used} allocated={allocated} compute={device.utilisation_percent ?? null} device={device} large={large} />
      {large && (
        <span class="cell-text figure" aria-hidden="true">
          <span class="cell-index">{device.index}</span>
          {healthy ? <span>{used === null ? "—" : formatPercent(used)}</span> : (
            <span class="tone-broken cell-sign"><Icon name="critical" /></span>
          )}
        </span>
      )}
    </a>
  );
}

interface PictureProps {
  used: number | null;
  allocated: number | null;
  compute: number | null;
  device: Device;
  large: boolean;
}

// Memory fills from the left; the thin line below it is compute.
function CellPicture({ used, allocated, compute, device, large }: PictureProps): JSX.Element {
  const width = 100;
  const height = large ? 40 : 100;
  const body = large ? height - 6 : height;
  const clamp = (part: number | null): number => Math.max(0, Math.min(100, part ?? 0));
  const pattern = `hatch-${device.node}-${device.index}`.replace(/[^a-zA-Z0-9-]/g, "_");
  return (
    <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true" focusable="false">
      <rect class="cell-ground" x="0" y="0" width={width} height={body} />
      {allocated !== null && <rect class="cell-allocated" x="0" y="0" width={clamp(allocated)} height={body} />}
      {used !== null && <rect class="cell-used" x="0" y="0" width={clamp(used)} height={body} />}
      {allocated !== null && allocated > 0 && (
        <rect class="cell-outline" x="0.5" y="0.5" width={Math.max(1, clamp(allocated) - 1)} height={body - 1}
          vector-effect="non-scaling-stroke" />
      )}
      {large && compute !== null && (
        <>
          <rect class="cell-compute-ground" x="0" y={height - 4} width={width} height="4" />
          <rect class="cell-compute" x="0" y={height - 4} width={clamp(compute)} height="4" />
        </>
      )}
      {device.state !== "healthy" && (
        <>
          <defs>
            <pattern id={pattern} width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
              <rect class={device.state === "cordoned" ? "cell-hatch cordoned" : "cell-hatch"} width="3.5" height="8" />
            </pattern>
          </defs>
          <rect x="0" y="0" width={width} height={body} fill={`url(#${pattern})`} />
        </>
      )}
    </svg>
  );
}
