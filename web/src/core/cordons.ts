// Which of cordon and uncordon a device or a node has. Pure.

// Which changes a state leaves. A state that says something else may hide a cordon.
export function cordonsFor(state: string): ("cordon" | "uncordon")[] {
  if (state === "cordoned") return ["uncordon"];
  return ["healthy", "ready"].includes(state) ? ["cordon"] : ["cordon", "uncordon"];
}
