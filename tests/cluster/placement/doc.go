// Package placement checks where pods with devices are placed, on nodes that only the API server knows.
package placement
