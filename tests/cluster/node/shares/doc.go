// Package shares checks on the node with a kubelet that containers have the share that they ask for.
package shares
