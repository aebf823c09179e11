package upgrade

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An Object is a pod or a node, as far as an upgrade must not change it.
type Object struct {
	UID         string
	Phase       string // of a pod
	Restarts    int32  // of all containers of a pod
	Annotations map[string]string
}

// PublicAnnotations are those with keys of Divvy's or HAMi's: divvy.dev/..., use.divvy.dev/..., hami.io/...
func PublicAnnotations(all map[string]string) map[string]string {
	public := map[string]string{}
	for key, value := range all {
		domain, _, found := strings.Cut(key, "/")
		labels := "." + domain
		if found && (strings.HasSuffix(labels, ".divvy.dev") || strings.HasSuffix(labels, ".hami.io")) {
			public[key] = value
		}
	}
	return public
}

// LostKeys are the annotations of `before` that `after` does not have with the same value, one line each.
func LostKeys(before, after map[string]string) []string {
	var lost []string
	public := PublicAnnotations(before)
	for _, key := range slices.Sorted(maps.Keys(public)) {
		if changingAnnotations[key] != "" {
			continue
		}
		value, there := after[key]
		if !there {
			lost = append(lost, key+" is gone")
		} else if key == inventory {
			lost = append(lost, lostModels(public[key], value)...)
		} else if value != public[key] {
			lost = append(lost, fmt.Sprintf("%s is %q, and was %q", key, value, public[key]))
		}
	}
	return lost
}

// inventory has a model for each kind of device on a node. Plugins of vendors register their devices at any time, so
// it grows.
const inventory = "divvy.dev/inventory"

// lostModels are the models of an inventory that a later one does not have with the same members, one line each.
func lostModels(before, after string) []string {
	var lost []string
	now := modelsOf(after)
	for _, model := range modelsOf(before) {
		if !slices.Contains(now, model) {
			lost = append(lost, fmt.Sprintf("%s has no more %s", inventory, model))
		}
	}
	return lost
}

// modelsOf are the models of an inventory as canonical JSON; of a text that is no inventory the text itself.
func modelsOf(text string) []string {
	var read struct{ Models []map[string]any }
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		return []string{text}
	}
	var models []string
	for _, model := range read.Models {
		one, _ := json.Marshal(model)
		models = append(models, string(one))
	}
	return models
}

// ended says whether a pod that was in one phase and is in another one has lost something. A pod that waited may run.
func ended(was, is string) bool {
	return is != was && !(was == "Pending" && is == "Running")
}

// LostObjects are the differences by which objects of `before`, by name, are not the same in `after`, one line each:
// one that is gone or is another one of its name, a container that ended or was started again, a lost annotation.
func LostObjects(before, after map[string]Object) []string {
	var lost []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		was := before[name]
		is, there := after[name]
		switch {
		case !there:
			lost = append(lost, name+" is gone")
			continue
		case is.UID != was.UID:
			lost = append(lost, fmt.Sprintf("%s has UID %s, and had %s", name, is.UID, was.UID))
		case ended(was.Phase, is.Phase):
			lost = append(lost, fmt.Sprintf("%s is %s, and was %s", name, is.Phase, was.Phase))
		case is.Restarts != was.Restarts:
			lost = append(lost, fmt.Sprintf("%s has %d restarts, and had %d", name, is.Restarts, was.Restarts))
		}
		for _, one := range LostKeys(was.Annotations, is.Annotations) {
			lost = append(lost, name+": "+one)
		}
	}
	return lost
}

// MissingKeys are the keys of `before` that `after` does not have, whatever their values are: of two pods that were
// made alike.
func MissingKeys(before, after map[string]string) []string {
	var missing []string
	for _, key := range slices.Sorted(maps.Keys(PublicAnnotations(before))) {
		if _, there := after[key]; !there {
			missing = append(missing, key)
		}
	}
	return missing
}

// LeftoverKeys are the differences by which `after` is not what an object of `before` is without old keys, one line
// each: an old key, or a present one that is missing, of an old one or of one that is not renamed.
func LeftoverKeys(renamed, before, after map[string]string) []string {
	var wrong []string
	for _, key := range slices.Sorted(maps.Keys(PublicAnnotations(before))) {
		present, old := renamed[key]
		if !old {
			present = key
		}
		if _, there := after[key]; there && old {
			wrong = append(wrong, key+" is still there")
		}
		if _, there := after[present]; !there {
			wrong = append(wrong, present+" is missing")
		}
	}
	return wrong
}
