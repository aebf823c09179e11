// Package preemption checks which pods end for a pod of higher priority.
package preemption
