package harness

import (
	"errors"
	"fmt"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cards whose link is slow and whose memory is small: all of it is filled and swapped at once.
const (
	SwapCards   = "sim-swapx2"
	SwapCardMiB = 512
	SwapBlock   = 4 << 20
)

// Turns that are as short as a check is.
var SwapTurns = []string{"--swap-chunk", "4Mi", "--swap-quantum", "300ms"}

// WithDevices is the node with these cards, and an agent with these options, and then as it was. Pods
// that `run` made are gone by then.
func (env *Env) WithDevices(cards string, options []string, run func(uuids []string) error) (err error) {
	record, err := env.ReadNodeRecord()
	if err != nil {
		return err
	}
	before, idCount, err := env.Devices()
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, env.DeletePods(), env.RestartAgent(record.Build), env.WaitDevices(before, idCount))
	}()
	if err := env.RestartAgentOn(cards, record.Build, options...); err != nil {
		return err
	}
	var uuids []string
	err = env.WaitFor("the node has "+cards, func() error {
		if uuids, _, err = env.Devices(); err == nil && uuids[0] == before[0] {
			err = fmt.Errorf("it has %v", uuids)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := env.WaitDevices(uuids, idCount/int64(len(before))*int64(len(uuids))); err != nil {
		return err
	}
	return run(uuids)
}

// NodeAndDevices: what the node was made of, and its cards; a skip where there is none.
func (env *Env) NodeAndDevices() (NodeRecord, []string, error) {
	if err := env.RequireKubelet(); err != nil {
		return NodeRecord{}, nil, err
	}
	record, err := env.ReadNodeRecord()
	if err != nil {
		return NodeRecord{}, nil, err
	}
	uuids, _, err := env.Devices()
	return record, uuids, err
}

// Devices is the cards that are registered and well, and how many units the kubelet has of them: what it counts is in
// the node up to 10 s later, and may be another plugin's until then.
func (env *Env) Devices() ([]string, int64, error) {
	node, err := env.Client.CoreV1().Nodes().Get(env.Ctx, KubeletNode, meta.GetOptions{})
	if err != nil {
		return nil, 0, err
	}
	devices, err := RegisteredDevices(node)
	if err != nil {
		return nil, 0, err
	}
	var uuids []string
	idCount := int64(0)
	for _, one := range HealthyDevices(devices) {
		uuids = append(uuids, one.ID)
		idCount += one.Count
	}
	if len(uuids) == 0 {
		return nil, 0, errors.New("no card is well")
	}
	return uuids, idCount, nil
}

// DeletePods takes the pods of the check away, and waits until they are.
func (env *Env) DeletePods() error {
	pods, none := env.Client.CoreV1().Pods(env.Namespace), int64(0)
	err := pods.DeleteCollection(env.Ctx, meta.DeleteOptions{GracePeriodSeconds: &none}, meta.ListOptions{})
	if err != nil {
		return err
	}
	err = env.WaitFor("its pods are gone", func() error {
		left, err := pods.List(env.Ctx, meta.ListOptions{})
		if err == nil && len(left.Items) > 0 {
			err = fmt.Errorf("there is %s", left.Items[0].Name)
		}
		return err
	})
	return errors.Join(err, env.devicesEmpty())
}

// ShareOf is a pod with so much of that card.
func ShareOf(name, uuid string, mebibytes int) *core.Pod {
	p := ProbePod(name, OneShare(fmt.Sprint(mebibytes), "10"))
	p.Annotations = map[string]string{"use.divvy.dev/uuid": uuid}
	return p
}
