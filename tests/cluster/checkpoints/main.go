// Writes checkpoints of the kubelet's device manager by its own code, one a line: what the agent's
// reading of them, and of their checksums, is held to (tests/kubelet/checkpoints.jsonl).
//
//	go run ./checkpoints > ../kubelet/checkpoints.jsonl
package main

import (
	"fmt"
	"math/rand"
	"os"

	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/checkpoint"
)

const (
	count = 60
	seed  = 7
)

var words = []string{"", "gpu", "GPU-5c2e::0", "nvidia.com/gpu", "team a", "<nil>", `q"uo\te`, "zwölf",
	"日本", "a\tb\nc", "\u2028&<>", "map[0:[x]]", "}", "\x7f"}

func word(r *rand.Rand) string { return words[r.Intn(len(words))] }

// list: nil, empty, or some.
func list(r *rand.Rand) []string {
	if r.Intn(6) == 0 {
		return nil
	}
	all := []string{}
	for range r.Intn(4) {
		all = append(all, word(r)+fmt.Sprint(r.Intn(30)))
	}
	return all
}

func devices(r *rand.Rand) checkpoint.DevicesPerNUMA {
	if r.Intn(10) == 0 {
		return nil
	}
	all := checkpoint.NewDevicesPerNUMA()
	for range r.Intn(4) {
		all[int64(r.Intn(14)-2)] = list(r)
	}
	return all
}

func reply(r *rand.Rand) []byte {
	if r.Intn(6) == 0 {
		return nil
	}
	all := make([]byte, r.Intn(9))
	r.Read(all)
	return all
}

func entries(r *rand.Rand) []checkpoint.PodDevicesEntry {
	if r.Intn(10) == 0 {
		return nil
	}
	all := []checkpoint.PodDevicesEntry{}
	for range r.Intn(5) {
		all = append(all, checkpoint.PodDevicesEntry{PodUID: "u-" + word(r), ContainerName: "c" + word(r),
			ResourceName: "r" + word(r), DeviceIDs: devices(r), AllocResp: reply(r)})
	}
	return all
}

func registered(r *rand.Rand) map[string][]string {
	if r.Intn(10) == 0 {
		return nil
	}
	all := map[string][]string{}
	for range r.Intn(5) {
		all[word(r)] = list(r)
	}
	return all
}

func main() {
	r := rand.New(rand.NewSource(seed))
	for range count {
		text, err := checkpoint.New(entries(r), registered(r)).MarshalCheckpoint()
		if err == nil {
			// As a kubelet does when it starts: what it reads is what it wrote.
			again := checkpoint.New(nil, nil)
			if err = again.UnmarshalCheckpoint(text); err == nil {
				err = again.VerifyChecksum()
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(string(text))
	}
}
