package upgrade

import (
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
		} else if value != public[key] {
			lost = append(lost, fmt.Sprintf("%s is %q, and was %q", key, value, public[key]))
		}
	}
	return lost
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
		case is.Phase != was.Phase:
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
