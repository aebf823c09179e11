// Package queues checks queues with guarantee and limit, quotas and reclaim.
package queues
