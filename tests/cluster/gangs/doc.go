// Package gangs checks pods that start together or not at all.
package gangs
