// Package memory checks on the node with a kubelet how tenants share memory and compute of a device, and idle pods.
package memory
