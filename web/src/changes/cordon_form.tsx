// Cordon and uncordon, of a device or a node.
import type { JSX } from "preact";
import { cordonsFor } from "../core/cordons";
import { tOf } from "../core/i18n";
import { Outcome, useFlow } from "./flow";

interface CordonProps {
  item: { id: string; state: string; uuid?: string }; // a node has no UUID
  gone: boolean;
}

export function Form({ item: { id, state, uuid }, gone }: CordonProps): JSX.Element {
  const target = { [uuid ? "device" : "node"]: id };
  const flow = useFlow();
  const words = cordonsFor(state);
  const asked = flow.state.step === "idle" ? "" : flow.state.change.what;
  return (
    <>
      {!gone && (
        <div class="fields">
          {words.map((what) => (
            <button type="button" class="button" key={what} data-ask onClick={() => flow.ask({ what, target })}>{tOf("change.", what)}…</button>
          ))}
          <p class="hint">{words.map((what) => tOf("change.hint.", what)).join(" ")}</p>
        </div>
      )}
      <Outcome flow={flow} isReached={(asked === "cordon") === (state === "cordoned")} />
    </>
  );
}
