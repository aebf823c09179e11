package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Enough to keep one apiserver busy.
const makersAtOnce = 16

// readNodes takes a List of Nodes.
func readNodes(file string) ([]core.Node, error) {
	in := os.Stdin
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		in = opened
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	var list core.NodeList
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("%s: no nodes in it", file)
	}
	return list.Items, nil
}

// Concurrently does something for each of so many, several at a time; the first error that came.
func Concurrently(count int, each func(at int) error) error {
	todo := make(chan int)
	failed := make(chan error, 1)
	var makers sync.WaitGroup
	for range makersAtOnce {
		makers.Add(1)
		go func() {
			defer makers.Done()
			for at := range todo {
				if err := each(at); err != nil {
					select {
					case failed <- err:
					default:
					}
				}
			}
		}()
	}
	for at := range count {
		todo <- at
	}
	close(todo)
	makers.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// CreateNodes makes those that are not there yet. They are ready at once and for ever: they have no
// kubelet.
func (c *Cluster) CreateNodes(ctx context.Context, file string) error {
	nodes, err := readNodes(file)
	if err != nil {
		return err
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	began := time.Now()
	err = Concurrently(len(nodes), func(at int) error {
		_, err := client.CoreV1().Nodes().Create(ctx, &nodes[at], meta.CreateOptions{})
		if err != nil && !errors.IsAlreadyExists(err) {
			return fmt.Errorf("node %s: %w", nodes[at].Name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "cluster: %d nodes after %.1f s\n", len(nodes), time.Since(began).Seconds())
	return nil
}

func IsNotFound(err error) bool { return errors.IsNotFound(err) }
