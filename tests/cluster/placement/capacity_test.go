package placement

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

func TestCapacity(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "as-many-more-pods-run-as-the-scheduler-says",
			Requirement: "capacity: that many replicas are placed by the real scheduler, no more and no fewer",
			Run:         asManyAsSaid})
}

// sayFit asks the scheduler how many more of this pod fit.
func sayFit(env *harness.Env, metrics int, p *core.Pod) (int, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return 0, err
	}
	said := struct{ Fit *int }{}
	err = env.WaitFor("the scheduler counts", func() error {
		reply, err := http.Post(harness.LocalURL("http", metrics)+"/fit", "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		defer reply.Body.Close()
		text, err := io.ReadAll(reply.Body)
		if err != nil {
			return err
		}
		if reply.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", reply.Status, text)
		}
		if err := json.Unmarshal(text, &said); err != nil {
			return err
		}
		if said.Fit == nil {
			return fmt.Errorf("not counted: %s", text)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return *said.Fit, nil
}

// asManyAsSaid adds pods of four shapes to a cluster with tenants of four sizes. CPU limits the last shape.
func asManyAsSaid(env *harness.Env) error {
	ports, err := env.Ports(harness.DefaultReplica)
	if err != nil {
		return err
	}
	for at := 0; at < harness.NodeCount*harness.DevicesPerNode/2; at++ {
		size := harness.DeviceMemoryMiB / 5 * (1 + at%4)
		p := harness.Pod(fmt.Sprintf("tenant-%d", at), harness.Container("c", harness.OneShare(fmt.Sprint(size), "10")))
		if _, err := env.Create(p); err != nil {
			return err
		}
		if _, err := env.WaitBound(p.Name); err != nil {
			return err
		}
	}
	half := fmt.Sprint(harness.DeviceMemoryMiB / 2)
	shapes := []harness.Limits{
		{"nvidia.com/gpu": "2", "nvidia.com/gpumem": half, "nvidia.com/gpucores": "10"},
		{"nvidia.com/gpu": "1"},
		harness.OneShare(half, "30"),
		{"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1000", "nvidia.com/gpucores": "1", "cpu": "3"},
	}
	for number, limits := range shapes {
		replica := func(at int) *core.Pod {
			return harness.Pod(fmt.Sprintf("replica-%d-%d", number, at), harness.Container("c", limits))
		}
		fit, err := sayFit(env, ports.Metrics, replica(0))
		if err != nil {
			return err
		}
		if fit == 0 && number > 0 {
			return fmt.Errorf("none of %v fits: the check says nothing", limits)
		}
		for at := 0; at <= fit; at++ {
			if _, err := env.Create(replica(at)); err != nil {
				return err
			}
		}
		bound := 0
		err = env.WaitFor(fmt.Sprintf("%d of %v are bound, one waits", fit, limits), func() error {
			bound = 0
			for at := 0; at <= fit; at++ {
				p, err := env.Get(replica(at).Name)
				if err != nil {
					return err
				}
				if p.Spec.NodeName != "" {
					bound++
				}
			}
			if bound < fit {
				return fmt.Errorf("%d are bound", bound)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if bound != fit {
			return fmt.Errorf("%d of %v are bound; the scheduler said %d", bound, limits, fit)
		}
		rest, err := sayFit(env, ports.Metrics, replica(0))
		if err != nil {
			return err
		}
		if rest != 0 {
			return fmt.Errorf("%d of %v would still fit", rest, limits)
		}
		for at := 0; at <= fit; at++ {
			if err := env.Delete(replica(at).Name); err != nil {
				return err
			}
		}
		// The scheduler learns of it a moment later.
		err = env.WaitFor("the capacity is as before", func() error {
			again, err := sayFit(env, ports.Metrics, replica(0))
			if err == nil && again != fit {
				err = fmt.Errorf("%d of %v fit, not %d", again, limits, fit)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
