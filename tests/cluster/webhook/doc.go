// Package webhook checks the admission of pods: its availability, and what policies refuse.
package webhook
