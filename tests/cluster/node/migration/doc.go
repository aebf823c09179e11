// Package migration checks on the node with a kubelet the change from and to other device plugins and versions.
package migration
