package upgrade

import (
	"maps"
	"testing"
)

func noted() map[string]string {
	return map[string]string{"divvy.dev/lease": "7", "use.divvy.dev/uuid": "GPU-0", "probe.use.divvy.dev/priority": "low",
		"hami.io/vgpu-node": "n", "kubernetes.io/config.source": "api", "notdivvy.dev/key": "x", "plain": "y"}
}

func TestPublicAnnotations(t *testing.T) {
	if public := PublicAnnotations(noted()); len(public) != 4 || public["hami.io/vgpu-node"] != "n" {
		t.Errorf("%v", public)
	}
}

func TestLostKeys(t *testing.T) {
	found(t, LostKeys(noted(), noted()))
	less := noted()
	delete(less, "divvy.dev/lease")
	delete(less, "plain")
	found(t, LostKeys(noted(), less), "divvy.dev/lease is gone")
	other := noted()
	other["hami.io/vgpu-node"], other["divvy.dev/scheduler-term"], other["plain"] = "m", "8", "z"
	found(t, LostKeys(noted(), other), `hami.io/vgpu-node is "m", and was "n"`)
}

func TestLostKeysOfInventory(t *testing.T) {
	with := func(text string) map[string]string { return map[string]string{"divvy.dev/inventory": text} }
	was := with(`{"learningUntil":"T","models":[{"model":"H100","devices":4,"uuids":["a","b"]}]}`)
	found(t, LostKeys(was, with(`{"models":[{"model":"other"},{"devices":4,"uuids":["a","b"],"model":"H100"}]}`)))
	found(t, LostKeys(was, with(`{"models":[{"model":"H100","devices":3,"uuids":["a"]}]}`)),
		`divvy.dev/inventory has no more {"devices":4,"model":"H100","uuids":["a","b"]}`)
	found(t, LostKeys(was, with(`cut`)), `divvy.dev/inventory has no more {"devices":4,"model":"H100","uuids":["a","b"]}`)
	found(t, LostKeys(was, nil), "divvy.dev/inventory is gone")
}

func TestLostObjects(t *testing.T) {
	pods := func(change func(*Object)) map[string]Object {
		one := Object{UID: "u", Phase: "Running", Restarts: 1, Annotations: noted()}
		change(&one)
		return map[string]Object{"p": one}
	}
	same := func(*Object) {}
	found(t, LostObjects(pods(same), pods(same)))
	found(t, LostObjects(pods(same), nil), "p is gone")
	found(t, LostObjects(pods(same), pods(func(o *Object) { o.UID = "v" })), "p has UID v, and had u")
	found(t, LostObjects(pods(same), pods(func(o *Object) { o.Phase = "Failed" })), "p is Failed, and was Running")
	waits := func(o *Object) { o.Phase = "Pending" }
	found(t, LostObjects(pods(waits), pods(same)))
	found(t, LostObjects(pods(same), pods(waits)), "p is Pending, and was Running")
	found(t, LostObjects(pods(same), pods(func(o *Object) { o.Restarts++ })), "p has 2 restarts, and had 1")
	found(t, LostObjects(pods(same), pods(func(o *Object) { delete(o.Annotations, "use.divvy.dev/uuid") })),
		"p: use.divvy.dev/uuid is gone")
	more := pods(same)
	maps.Copy(more, map[string]Object{"q": {}})
	found(t, LostObjects(pods(same), more))
}

func TestMissingKeys(t *testing.T) {
	found(t, MissingKeys(noted(), map[string]string{"divvy.dev/lease": "9", "use.divvy.dev/uuid": "GPU-1",
		"probe.use.divvy.dev/priority": "low"}), "hami.io/vgpu-node")
}

func TestLeftoverKeys(t *testing.T) {
	renamed := map[string]string{"divvy.dev/lease": "divvy.dev/scheduler-term"}
	now := noted()
	found(t, LeftoverKeys(renamed, noted(), now), "divvy.dev/lease is still there", "divvy.dev/scheduler-term is missing")
	delete(now, "divvy.dev/lease")
	now["divvy.dev/scheduler-term"] = "7"
	found(t, LeftoverKeys(renamed, noted(), now))
	found(t, LeftoverKeys(renamed, now, now))
	now["divvy.dev/lease"] = "7"
	found(t, LeftoverKeys(renamed, noted(), now), "divvy.dev/lease is still there")
	delete(now, "hami.io/vgpu-node")
	found(t, LeftoverKeys(nil, noted(), now), "hami.io/vgpu-node is missing")
}
