// Reads a model again when nothing was heard of it for a while: a stream is silent where nothing changes.
import { useEffect } from "preact/hooks";
import { nowMs } from "../data/clock";

const kSilentMs = 8000;

interface Refreshable {
  dataTime: { peek(): number | null };
  state: { peek(): string };
  refresh(): void;
}

export function useRevalidation(model: Refreshable): void {
  useEffect(() => {
    let tried = 0;
    return nowMs.subscribe((now) => {
      const age = now - (model.dataTime.peek() ?? now);
      if (age < kSilentMs || now - tried < kSilentMs || model.state.peek() !== "ready") return;
      tried = now;
      model.refresh();
    });
  }, [model]);
}
