// Package leader checks a pair of replicas: who leads, and what a lost or paused leader leaves.
package leader
