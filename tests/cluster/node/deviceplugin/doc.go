// Package deviceplugin checks on the node with a kubelet the agent as a device plugin: names, restarts, metrics.
package deviceplugin
