// The manifest of a pod with a share, for the planner. Pure.
import { parseBytes } from "./units";

export interface PodForm {
  memory: string; // "16Gi"; empty: not stated
  cores: string; // percent of a device
  devices: string;
  model: string;
}

const kMebi = 1024 * 1024;

export function podManifest({ memory, cores, devices, model }: PodForm): string {
  const bytes = parseBytes(memory);
  const limits = [["gpu", devices.trim() || "1"]];
  if (bytes) limits.push(["gpumem", `${Math.ceil(bytes / kMebi)}Mi`]);
  if (cores.trim()) limits.push(["gpucores", cores.trim()]);
  const annotations = model.trim() ? `  annotations:\n    use.divvy.dev/model: ${JSON.stringify(model.trim())}\n` : "";
  return `apiVersion: v1
kind: Pod
metadata:
  name: planned
${annotations}spec:
  containers:
    - name: main
      image: example.com/image
      resources:
        limits:
${limits.map(([name, value]) => `          divvy.dev/${name}: ${JSON.stringify(value)}\n`).join("")}`;
}
