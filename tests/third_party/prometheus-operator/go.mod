// Prometheus' operator, for the kinds of its objects, which the check of the chart's monitors gives an API
// server. Nothing of it is built.
module divvy.dev/tests/third_party/prometheus-operator

go 1.24.0

require github.com/prometheus-operator/prometheus-operator v0.85.0
