{{- define "limitree.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "limitree.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "limitree.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "limitree.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "limitree.selector" -}}
app.kubernetes.io/name: {{ include "limitree.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "limitree.metadata" -}}
name: {{ include "limitree.fullname" . | quote }}
namespace: {{ .Release.Namespace | quote }}
labels:
  {{- include "limitree.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
  helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
  {{- with .Values.commonLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "limitree.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "limitree.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "limitree.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* A file: a text as it is, or values as YAML. */ -}}
{{- define "limitree.file" -}}
{{- if kindIs "string" . -}}{{ . }}{{- else -}}{{ toYaml . }}{{- end -}}
{{- end -}}

{{- define "limitree.hasLimits" -}}
{{- if or .Values.limits .Values.limitsConfigMap }}yes{{ end -}}
{{- end -}}

{{- define "limitree.limitsConfigMap" -}}
{{- default (printf "%s-limits" (include "limitree.fullname" .)) .Values.limitsConfigMap -}}
{{- end -}}

{{- define "limitree.descriptorsConfigMap" -}}
{{- default (printf "%s-descriptors" (include "limitree.fullname" .)) .Values.descriptors.configMap -}}
{{- end -}}

{{- define "limitree.storeSecret" -}}
{{- default (printf "%s-store" (include "limitree.fullname" .)) .Values.store.existingSecret -}}
{{- end -}}

{{- define "limitree.tokenSecret" -}}
{{- default (printf "%s-token" (include "limitree.fullname" .)) .Values.adminToken.existingSecret -}}
{{- end -}}

{{- define "limitree.hasStore" -}}
{{- if or .Values.store.url .Values.store.existingSecret }}yes{{ end -}}
{{- end -}}

{{- define "limitree.hasToken" -}}
{{- if or .Values.adminToken.value .Values.adminToken.existingSecret }}yes{{ end -}}
{{- end -}}

{{- /* Whether buckets may be elsewhere than in the memory of a pod. */ -}}
{{- define "limitree.mayShare" -}}
{{- $named := or (include "limitree.hasStore" .) .Values.envFrom -}}
{{- range .Values.env -}}
{{- if has .name (list "LIMITREE_STORE" "MEMCACHE_HOST_PORT" "MEMCACHE_SRV" "REDIS_URL") -}}
{{- $named = true -}}
{{- end -}}
{{- end -}}
{{- if $named }}yes{{ end -}}
{{- end -}}

{{- /* The options that the chart itself gives. */ -}}
{{- define "limitree.options" -}}
listen: {{ printf ":%v" .Values.ports.grpc }}
admin-listen: 127.0.0.1:6070
metrics-listen: {{ printf ":%v" .Values.ports.metrics }}
drain-delay: {{ .Values.drain.delay }}s
drain-grace: {{ .Values.drain.grace }}s
{{- if not .Values.tls.clientCertificates }}
http-listen: {{ printf ":%v" .Values.ports.http }}
{{- end }}
{{- if include "limitree.hasLimits" . }}
limits: /etc/limitree/limits/limits.yaml
{{- end }}
{{- if .Values.descriptors.enabled }}
descriptors: /etc/limitree/descriptors
{{- end }}
{{- if include "limitree.hasToken" . }}
admin-token-file: /etc/limitree/token/token
{{- end }}
{{- with .Values.tls }}
{{- if .existingSecret }}
https-listen: {{ printf ":%v" $.Values.ports.https }}
tls-cert: /etc/limitree/tls/tls.crt
tls-key: /etc/limitree/tls/tls.key
{{- if .clientCertificates }}
tls-client-ca: /etc/limitree/tls/ca.crt
{{- with .clientNames }}
tls-client-name: {{ toJson . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Both as words of the command line; a value may be a list. */ -}}
{{- define "limitree.args" -}}
{{- $own := include "limitree.options" . | fromYaml -}}
{{- range $name, $value := .Values.settings -}}
{{- /* Its password would be an argument, which is no secret. */ -}}
{{- if or (hasKey $own $name) (eq $name "store") -}}
{{- fail (printf "settings.%s is set by another value of the chart: see values.yaml" $name) -}}
{{- end -}}
{{- if has $name (list "otlp-headers" "xds-header") -}}
{{- fail (printf "settings.%s would be an argument, which is no secret: use its variable in env" $name) -}}
{{- end -}}
{{- range $one := kindIs "slice" $value | ternary $value (list $value) -}}
{{- if and (eq $name "set") (regexMatch "^ *([a-z_]*password *=|(per_second_)?store *=.*@)" (toString $one)) -}}
{{- fail "settings.set has a password, which would be an argument and is no secret: use a variable in env, or a file" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $words := list -}}
{{- range $name, $value := merge (dict) $own .Values.settings -}}
{{- range $one := kindIs "slice" $value | ternary $value (list $value) -}}
{{- $text := kindIs "string" $one | ternary $one (toRawJson $one) -}}
{{- $words = append $words (printf "--%s=%s" $name $text) -}}
{{- end -}}
{{- end -}}
{{- toYaml $words -}}
{{- end -}}

{{- /* Connections of clients do not take this port from the kubelet. */ -}}
{{- define "limitree.isAlive" -}}
httpGet: {path: /livez, port: metrics}
{{- end -}}

{{- /* With certificates of clients there is no HTTP that the kubelet could
ask. */ -}}
{{- define "limitree.isReady" -}}
{{- if .Values.tls.clientCertificates -}}
tcpSocket: {port: grpc}
{{- else -}}
httpGet: {path: /healthcheck, port: http}
{{- end }}
{{- end -}}
