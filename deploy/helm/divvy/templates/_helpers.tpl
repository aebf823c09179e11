{{- define "divvy.labels" -}}
app.kubernetes.io/name: divvy
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: divvy
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* Pods of one part: never more than this, it cannot be changed. */}}
{{- define "divvy.selector" -}}
app.kubernetes.io/name: divvy
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{/* The first of the resources that all devices are counted by. */}}
{{- define "divvy.counted" -}}
{{- $volcano := eq .Values.agent.dialect "volcano" -}}
{{- .Values.agent.resource | default (ternary "volcano.sh/vgpu-number" "nvidia.com/gpu" $volcano) | splitList "," | first }}
{{- end }}
{{/* What scheduler.deviceConfig, the file or the ConfigMap that holds it, calls another of NVIDIA's: empty
     where it does not. root, key. */}}
{{- define "divvy.renamed" -}}
{{- $config := fromYaml .root.Values.scheduler.deviceConfig -}}
{{- with $config.data }}{{ $config = fromYaml (get . "device-config.yaml") }}{{ end -}}
{{- with $config.nvidia }}{{ get . $.key | default "" }}{{ end -}}
{{- end }}
{{- define "divvy.memory" -}}
{{- $renamed := include "divvy.renamed" (dict "root" . "key" "resourceMemoryName") | default "nvidia.com/gpumem" -}}
{{ ternary "volcano.sh/vgpu-memory" $renamed (eq .Values.agent.dialect "volcano") }}
{{- end }}
{{- define "divvy.cores" -}}
{{- $renamed := include "divvy.renamed" (dict "root" . "key" "resourceCoreName") | default "nvidia.com/gpucores" -}}
{{ ternary "volcano.sh/vgpu-cores" $renamed (eq .Values.agent.dialect "volcano") }}
{{- end }}

{{/* A plain manifest of deploy/kubernetes, with this release's labels and namespace. It says the
     namespace once, in one word, and has no labels at the first indentation but where it says so.
     `keep`: a document whose kind that is stays when the release goes. The Namespace itself is
     whoever's installs. */}}
{{- define "divvy.manifest" -}}
{{- $root := .root -}}
{{- $keep := .keep | default "" -}}
{{- $labels := printf "metadata:\n  labels:\n%s" (include "divvy.labels" $root | indent 4) -}}
{{- range splitList "\n---\n" (printf "\n%s" .text) }}
{{- $text := . }}
{{- if and (contains "\nkind: " $text) (not (contains "\nkind: Namespace\n" $text)) }}
{{- $head := $labels }}
{{- if and $keep (contains (printf "\nkind: %s\n" $keep) $text) }}
{{- $head = replace "metadata:\n" "metadata:\n  annotations: {helm.sh/resource-policy: keep}\n" $head }}
{{- end }}
{{- if contains "\nmetadata:\n  name: divvy-queues-view\n  labels:\n" $text }}
{{- $text = replace "\n  labels:\n" (printf "\n  labels:\n%s\n" (include "divvy.labels" $root | indent 4)) $text }}
{{- else }}
{{- $text = replace "\nmetadata:\n" (printf "\n%s\n" $head) $text }}
{{- end }}
---
{{ $text | replace "divvy-system" $root.Release.Namespace | trim }}
{{- end }}
{{- end }}
{{- end }}

{{/* registry/repository:tag or @digest. image, registry (another's), tag (where it says none). */}}
{{- define "divvy.image" -}}
{{- $registry := .image.registry | default .registry -}}
{{- $name := ternary (printf "%s/%s" (trimSuffix "/" $registry) .image.repository) .image.repository (ne $registry "") -}}
{{- if .image.digest -}}{{ $name }}@{{ .image.digest }}{{- else -}}{{ $name }}:{{ .image.tag | default .tag }}{{- end -}}
{{- end }}

{{- define "divvy.own-image" -}}
{{ include "divvy.image" (dict "image" .Values.image "registry" "" "tag" .Chart.AppVersion) }}
{{- end }}

{{/* Providers' versions have suffixes (v1.34.1-eks-1): images of kube-scheduler have none. */}}
{{- define "divvy.kube-scheduler-image" -}}
{{- $version := regexFind "^v[0-9]+\\.[0-9]+\\.[0-9]+" .Capabilities.KubeVersion.Version -}}
{{ include "divvy.image" (dict "image" .Values.kubeScheduler.image "registry" .Values.image.registry "tag" $version) }}
{{- end }}

{{/* Fails if no agent would start with this text: it is not YAML, or has no settings. Agents and `divvy doctor` report
     other errors. text, at. HAMi's ConfigMap contains it as text once more. */}}
{{- define "divvy.check-node-settings" -}}
{{- $accepted := "; accepted: a map with settings (docs/reference/node-settings.md), or HAMi's nodeconfig" -}}
{{- /* The parser's message has a line for a syntax error; for YAML that is not a map it names a Go type. */ -}}
{{- $wrong := get (fromYaml .text) "Error" | toString -}}
{{- if contains "cannot unmarshal" $wrong }}{{ fail (printf "%s: is not a map%s" .at $accepted) }}{{ end -}}
{{- if contains "yaml: " $wrong }}{{ fail (printf "%s: is not YAML: %s%s" .at (splitList "yaml: " $wrong | last) $accepted) }}{{ end -}}
{{- $read := fromYaml .text -}}
{{- if hasKey $read "kind" -}}
{{- $data := $read.data -}}
{{- $text := "" -}}
{{- if kindIs "map" $data }}{{ $text = get $data "config.json" }}{{ end -}}
{{- if not (kindIs "string" $text) }}{{ $text = "" }}{{ end -}}
{{- if not $text }}{{ fail (printf "%s: is a %v without config.json; accepted: a ConfigMap with it as text" .at $read.kind) }}{{ end -}}
{{- include "divvy.check-node-settings" (dict "text" $text "at" (printf "%s (config.json)" .at)) -}}
{{- else if not (or (hasKey $read "settings") (hasKey $read "nodeconfig")) -}}
{{- fail (printf "%s: has no settings%s" .at $accepted) }}
{{- end -}}
{{- end }}

{{/* Variables that say where the API server is. */}}
{{- define "divvy.api-server" -}}
{{- with .Values.apiServer.host }}
- {name: KUBERNETES_SERVICE_HOST, value: {{ . | quote }}}
{{- end }}
{{- with .Values.apiServer.port }}
- {name: KUBERNETES_SERVICE_PORT, value: {{ . | quote }}}
{{- end }}
{{- end }}

{{/* What no container of ours needs. */}}
{{- define "divvy.confined" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{/* Where agents, and their helpers, are. */}}
{{- define "divvy.on-nodes" -}}
{{- $a := .Values.agent -}}
{{- with $a.runtimeClassName }}
runtimeClassName: {{ . | quote }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- /* Every taint is tolerated; on nodes of another system each rollout would wait for pods that never start. */}}
nodeSelector: {{ toYaml (merge (dict "kubernetes.io/os" "linux") ($a.nodeSelector | default dict)) | nindent 2 }}
{{- with $a.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $a.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* For runtimes with NVIDIA's hook: NVML, and every card. */}}
{{- define "divvy.cards" -}}
{{- if eq .Values.agent.node "gpu" }}
- {name: NVIDIA_VISIBLE_DEVICES, value: all}
- {name: NVIDIA_DRIVER_CAPABILITIES, value: "compute,utility"}
{{- end }}
{{- end }}

{{/* Whether the runtime can be told by CDI what containers get; empty: not. */}}
{{- define "divvy.cdi" -}}
{{- $a := .Values.agent -}}
{{- if and $a.cdiDir (ne $a.injection "mounts") }}yes{{ end }}
{{- end }}

{{/* Where NVIDIA's toolkit says what cards are, if that is another folder than what we write into; empty: not. */}}
{{- define "divvy.static-cdi" -}}
{{- $a := .Values.agent -}}
{{- if and (include "divvy.cdi" .) (eq $a.node "gpu") (ne (clean $a.cdiDir) "/etc/cdi") }}yes{{ end }}
{{- end }}

{{/* The namespace of the agents that the console asks, or none. */}}
{{- define "divvy.console-agents" -}}
{{- if and .Values.agent.enabled .Values.agent.metrics.enabled }}{{ .Release.Namespace }}{{ else }}none{{ end }}
{{- end }}

{{/* The path of the console's page, with a slash at its end. */}}
{{- define "divvy.console-path" -}}
{{ trimSuffix "/" .Values.console.basePath }}/
{{- end }}

{{/* The port of the console's Service. */}}
{{- define "divvy.console-port" -}}
{{ ternary 443 80 (ne .Values.console.tls.secretName "") }}
{{- end }}

{{- define "divvy.monitored" -}}
{{- if and .Values.monitoring.enabled (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1") }}yes{{ end }}
{{- end }}

{{- define "divvy.scheduler-config" -}}
{{- .Values.generated.config | default (.Files.Get "files/scheduler-config.yaml")
  | replace "divvy-system" .Release.Namespace
  | replace "http://127.0.0.1:9396" (printf "http://127.0.0.1:%d" (int .Values.scheduler.ports.extender)) }}
{{- end }}
