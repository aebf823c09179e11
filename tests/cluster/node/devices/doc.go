// Package devices checks on the node with a kubelet which devices it offers: health, topology, kinds.
package devices
