// Package compatibility checks that pods and nodes in HAMi's forms, and of other vendors, are understood.
package compatibility
