// Which topics the tabs of one browser want. The elected tab opens one stream for all of them. Pure.

export const kWantLifeMs = 90_000; // a tab repeats its wants well within this time

interface Want {
  topics: readonly string[];
  atMs: number;
}

export class TabWants {
  private readonly wants = new Map<string, Want>();

  set(tab: string, topics: readonly string[], nowMs: number): void {
    this.wants.set(tab, { topics, atMs: nowMs });
  }

  remove(tab: string): void {
    this.wants.delete(tab);
  }

  // The sorted union of topics; wants of tabs that were silent for kWantLifeMs are dropped.
  topics(nowMs: number): string[] {
    const all = new Set<string>();
    for (const [tab, want] of this.wants) {
      if (nowMs - want.atMs > kWantLifeMs) this.wants.delete(tab);
      else for (const topic of want.topics) all.add(topic);
    }
    return [...all].sort();
  }
}

export type TabMessage =
  | { kind: "want"; tab: string; topics: string[] }
  | { kind: "bye"; tab: string }
  | { kind: "elected" }
  | { kind: "opened" }
  | { kind: "connection"; state: Connection }
  | { kind: "event"; name: string; data: string };

export type Connection = "connecting" | "live" | "polling" | "lost";
