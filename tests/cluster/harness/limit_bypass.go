package harness

import (
	"fmt"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
)

const (
	BypassBound = 10 * time.Second
)

func (env *Env) BypassCondition(name string) (core.PodCondition, error) {
	p, err := env.Get(name)
	if err != nil {
		return core.PodCondition{}, err
	}
	for _, one := range p.Status.Conditions {
		if one.Type == "divvy.dev/Bypass" {
			return one, nil
		}
	}
	return core.PodCondition{}, nil
}

func (env *Env) WaitBypassCondition(name, words string) error {
	return env.WaitFor(name+" is told", func() error {
		condition, err := env.BypassCondition(name)
		if err == nil && (condition.Status != core.ConditionTrue || !strings.Contains(condition.Message, words)) {
			err = fmt.Errorf("its condition is %+v; %s", condition, env.Processes.Tail(AgentProcess))
		}
		return err
	})
}
