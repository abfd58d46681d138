package cgroup

import (
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// name is a cgroup: one word a level, below the top of the tree.
type name []string

func (n name) child(word string) name { return append(n[:len(n):len(n)], word) }

// parseRoot takes a path, as in /a/b, or the name of a slice, as in a-b.slice.
func parseRoot(root string) name {
	var n name
	if slice, ok := strings.CutSuffix(path.Base(root), ".slice"); ok {
		for word := range strings.SplitSeq(slice, "-") {
			n = append(n, word)
		}
		return n
	}
	for word := range strings.SplitSeq(root, "/") {
		if word != "" {
			n = append(n, word)
		}
	}
	return n
}

// files returns the place of the name in a tree without systemd.
func (n name) files() string { return "/" + strings.Join(n, "/") }

// slice returns systemd's name. To systemd each dash is a level, so the words themselves have
// none.
func (n name) slice() string {
	words := make([]string, len(n))
	for i, word := range n {
		words[i] = strings.ReplaceAll(word, "-", "_")
	}
	return strings.Join(words, "-") + ".slice"
}

// slices returns the place of the name in a tree that belongs to systemd: each slice lies in
// the one that its name begins with.
func (n name) slices() string {
	at := ""
	for i := range n {
		at += "/" + n[:i+1].slice()
	}
	return at
}

// The classes of service that have a cgroup of their own. The cgroups of guaranteed pods lie beside those.
const (
	burstable  = "burstable"
	bestEffort = "besteffort"
)

func (t *Tree) classes() []name {
	return []name{t.root, t.root.child(burstable), t.root.child(bestEffort)}
}

// classOf returns the cgroup that holds the pods of a class.
func (t *Tree) classOf(class corev1.PodQOSClass) name {
	switch class {
	case corev1.PodQOSGuaranteed:
		return t.root
	case corev1.PodQOSBurstable:
		return t.root.child(burstable)
	}
	return t.root.child(bestEffort)
}

const podPrefix = "pod"

// podWord returns the pod's part of the name of its cgroup. A manifest may choose the UID, but not a place elsewhere in
// the tree.
func podWord(uid types.UID) (string, error) {
	if uid == "" || strings.ContainsAny(string(uid), "/\x00\n") || len(uid) > 128 {
		return "", fmt.Errorf("name the cgroup of uid %q: it cannot be part of a path", uid)
	}
	return podPrefix + string(uid), nil
}

// path returns the place of a cgroup below the top of each tree.
func (t *Tree) path(n name) string {
	if t.systemd != nil {
		return n.slices()
	}
	return n.files()
}

// uidsOf returns the possible UIDs for a directory in a class's cgroup. A slice's name does not
// show whether a character was a dash or an underscore.
func (t *Tree) uidsOf(class name, dir string) []types.UID {
	if t.systemd == nil {
		uid, ok := strings.CutPrefix(dir, podPrefix)
		if !ok || uid == "" {
			return nil
		}
		return []types.UID{types.UID(uid)}
	}
	word, isSlice := strings.CutSuffix(dir, ".slice")
	uid, isPod := strings.CutPrefix(word, strings.TrimSuffix(class.slice(), ".slice")+"-"+podPrefix)
	if !isSlice || !isPod || uid == "" || strings.Contains(uid, "-") {
		return nil
	}
	return []types.UID{types.UID(uid), types.UID(strings.ReplaceAll(uid, "_", "-"))}
}
