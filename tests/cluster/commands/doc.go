// Package commands checks the commands of users and the dashboards, on nodes that only the API server knows.
package commands
