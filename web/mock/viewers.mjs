// Viewers of the mock's cluster, by token, and what each of them sees.
import { kTraps } from "./world.mjs";

export const wholeScope = { everything: true, nodes: true, queues: true, pods: null, events: null };

export const kViewers = {
  "api.token.of-an-operator": { user: "operator@example.com", api: true, scope: wholeScope },
  "api.token.of-a-developer": { // may not write Events
    user: "dev@example.com", api: true, may: ["resize", "priority"], events: false,
    scope: { everything: false, nodes: true, queues: true, pods: ["research"], events: ["research"] },
  },
  "console.token.of-a-team": {
    user: "system:serviceaccount:research:a-service-account-with-a-long-name", api: false,
    scope: { everything: false, nodes: false, queues: false, pods: ["research", "sandbox"], events: ["research"] },
  },
  "console.token.without-rights": { user: kTraps[0], api: false, scope: { everything: false, nodes: false, queues: false, pods: [], events: [] } },
  "console.token.of-an-auditor": { user: "auditor", api: false, scope: { ...wholeScope, everything: false, events: ["research"] } },
};

const within = (names, namespace) => names === null || names.includes(namespace);

// The world without what the scope hides. It answers as the world does.
export function seenBy(world, scope) {
  if (scope.everything) return world;
  const shares = new Map([...world.shares].filter(([, share]) => within(scope.pods, share.namespace)));
  const used = new Set([...shares.values()].map((share) => share.device.id));
  const queues = new Set([...shares.values()].map((share) => share.queue));
  const devices = world.devices.filter((device) => scope.nodes || used.has(device.id))
    .map((device) => ({ ...device, parts: device.parts.filter((part) => shares.has(part.share)) }));
  const view = Object.assign(Object.create(world), {
    shares, devices, faults: false, nodeRows: scope.nodes ? world.nodeRows : [],
    waiting: world.waiting.filter((row) => within(scope.pods, row.namespace)),
    events: world.events.filter((row) => within(scope.events, String(row.name).split("/")[0])),
  });
  const { queues: allQueues, pools: allPools } = world.lists();
  view.queues = () => allQueues().filter((row) => scope.queues || queues.has(row.name));
  view.pools = () => (scope.nodes ? allPools() : []);
  const { answer } = world;
  view.answer = (path, body) => {
    const namespace = /^waiting\/([^/]+)\//.exec(path)?.[1];
    return answer.call(namespace && within(scope.pods, namespace) ? world : view, path, body);
  };
  return view;
}

// Nodes and other pods are left out; the numbers of nodes stay.
export function seenExplanation({ nodes, node, would_fit_without, fixes, ...rest }) {
  return { ...rest, ...(rest.bound ? { node } : {}), fixes: fixes.map(({ node: hidden, ...fix }) => fix), limited: true };
}
