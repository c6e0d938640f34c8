{{/* The pod, whichever way it runs; `args` comes with the way. */}}
{{- define "mipam.container" -}}
name: mipam
image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
{{- /* What it has no rights to write it must not try to serve; all six is what it does unasked. */}}
{{- $served := list }}
{{- if lt (len .root.Values.systems) 6 }}
{{- $served = list (printf "--systems=%s" (join "," .root.Values.systems)) }}
{{- end }}
args: {{ concat .args $served .root.Values.extraArgs | toJson }}
resources: {{ toJson .root.Values.resources }}
securityContext:
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
  readOnlyRootFilesystem: true
{{- end }}
{{/* The image says as which user, or OpenShift does, which refuses any other. */}}
{{- define "mipam.pod" -}}
serviceAccountName: mipam
automountServiceAccountToken: true
securityContext:
  runAsNonRoot: true
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- end }}
{{/* An object of a plain file, with the label that all have. */}}
{{- define "mipam.plain" -}}
{{- range $text := regexSplit "(?m)^---$" (.root.Files.Get .file) -1 }}
{{- $object := fromYaml $text }}
{{- $labels := $object.metadata.labels | default dict }}
{{- $_ := set $object.metadata "labels" (merge $labels (dict "app.kubernetes.io/name" "mipam")) }}
---
{{ toYaml $object }}
{{- end }}
{{- end }}
