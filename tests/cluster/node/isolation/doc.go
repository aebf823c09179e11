// Package isolation checks on the node with a kubelet that a tenant stays within its share and sees no other one.
package isolation
