// A box that opens at its summary: Escape closes it, and so does the focus that goes elsewhere.
import type { TargetedFocusEvent, TargetedKeyboardEvent } from "preact";

export function closeOnEscape(event: TargetedKeyboardEvent<HTMLDetailsElement>): void {
  if (event.key !== "Escape") return;
  event.currentTarget.open = false;
  event.currentTarget.querySelector("summary")?.focus();
}

export function closeOnLeave(event: TargetedFocusEvent<HTMLDetailsElement>): void {
  const next = event.relatedTarget;
  if (next instanceof Node && !event.currentTarget.contains(next)) event.currentTarget.open = false;
}
