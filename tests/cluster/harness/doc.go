// Package harness is a control plane of Kubernetes on one machine, Divvy in it, and what checks of it have in common.
package harness
