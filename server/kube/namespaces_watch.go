package kube

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// watch follows what is in each namespace: a namespace comes with the first thing and goes with the last. A watch that goes
// on from a revision may tell of a namespace that the client knows.
func (n namespaces) watch(ctx context.Context, of selection, since int64, each func(change) error) error {
	matches, err := namespacesLike(of)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var touched contents
	if since > 0 {
		if touched, err = n.touched(ctx, since); err != nil {
			return err
		}
	}
	content := contents{corev1.NamespaceDefault: {{}: true}} // it never goes
	seen := map[bool]int64{}                                 // the revisions up to which both watches have told, by thing.ofPods
	tell := func(kind nodev1.WatchType, name string) error {
		// What the other watch has not told yet must not lie before the revision.
		revision := min(seen[true], seen[false])
		if !matches(name) {
			return nil
		}
		return each(change{kind, revision, shownNamespace(name, revision)})
	}
	marks := 0
	for m := range n.things(ctx) {
		if m.err != nil {
			return m.err
		}
		seen[m.ofPods] = max(seen[m.ofPods], m.revision)
		kind, name := content.take(m)
		if m.kind == nodev1.WatchType_WATCH_TYPE_SYNCED {
			if marks++; marks == sourcesOfNames {
				if err := content.begin(touched, tell); err != nil {
					return err
				}
				if err := each(change{m.kind, min(seen[true], seen[false]), nil}); err != nil {
					return err
				}
			}
		} else if marks == sourcesOfNames && kind != nodev1.WatchType_WATCH_TYPE_UNSPECIFIED {
			if err := tell(kind, name); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// thing is a change of something that may be in a namespace.
type thing struct {
	kind     nodev1.WatchType
	ref      node.ObjectRef
	revision int64
	ofPods   bool // it comes from the watch of pods
	err      error
}

// sourcesOfNames is the number of the node API's watches that things come from: of pods, and of objects.
const sourcesOfNames = 2

// things yields what is in namespaces, and each change of that. Both watches send a mark.
func (n namespaces) things(ctx context.Context) func(yield func(thing) bool) {
	return func(yield func(thing) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		all := make(chan thing)
		go n.follow(ctx, 0, all)
		for {
			select {
			case m := <-all:
				if !yield(m) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// follow sends things until the context ends. A watch that ends sends its error.
func (n namespaces) follow(ctx context.Context, since int64, to chan<- thing) {
	send := func(m thing) error {
		select {
		case to <- m:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	go func() {
		err := pods(n).watch(ctx, selection{}, since, func(c change) error { return send(thingOf(c)) })
		_ = send(thing{err: err}) // the context has ended
	}()
	stream, err := n.objects.WatchObjects(ctx, &nodev1.WatchObjectsRequest{Kinds: namespacedKinds(), SinceRevision: since})
	if err == nil {
		err = received(stream, func(m *nodev1.WatchObjectsResponse) error {
			o := m.GetObject()
			ref := node.ObjectRef{Kind: node.ObjectKind(o.GetKind()), Namespace: o.GetNamespace(), Name: o.GetName()}
			return send(thing{m.GetType(), ref, m.GetRevision(), false, nil})
		})
	}
	_ = send(thing{err: err}) // the context has ended
}

func thingOf(c change) thing {
	m := thing{kind: c.kind, revision: c.revision, ofPods: true}
	if c.object != nil {
		m.ref = node.ObjectRef{Kind: "Pod", Namespace: c.object.GetNamespace(), Name: c.object.GetName()}
	}
	return m
}

func namespacedKinds() (names []string) {
	for _, kind := range node.Kinds() {
		if kind.Namespaced {
			names = append(names, kind.Plural)
		}
	}
	return names
}

// touched returns what has changed since a revision.
func (n namespaces) touched(ctx context.Context, since int64) (contents, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	found, all := contents{}, make(chan thing)
	go n.follow(ctx, since, all)
	for waits := sourcesOfNames; waits > 0; {
		select {
		case m := <-all:
			switch {
			case m.err != nil:
				return nil, m.err
			case m.kind == nodev1.WatchType_WATCH_TYPE_SYNCED:
				waits--
			default:
				found.add(m.ref)
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return found, nil
}

// contents holds what is in each namespace.
type contents map[string]map[node.ObjectRef]bool

// take notes a change, and returns what it makes of the namespace. Most make nothing.
func (c contents) take(m thing) (kind nodev1.WatchType, name string) {
	name = m.ref.Namespace
	before := len(c[name])
	switch {
	case name == "":
	case m.kind != nodev1.WatchType_WATCH_TYPE_DELETED:
		c.add(m.ref)
		if before == 0 {
			return nodev1.WatchType_WATCH_TYPE_ADDED, name
		}
	default:
		delete(c[name], m.ref)
		if len(c[name]) == 0 {
			delete(c, name)
		}
		if before > 0 && len(c[name]) == 0 {
			return nodev1.WatchType_WATCH_TYPE_DELETED, name
		}
	}
	return nodev1.WatchType_WATCH_TYPE_UNSPECIFIED, name
}

func (c contents) add(ref node.ObjectRef) {
	if c[ref.Namespace] == nil {
		c[ref.Namespace] = map[node.ObjectRef]bool{}
	}
	c[ref.Namespace][ref] = true
}

// begin tells of all namespaces or, after a revision, of those whose present things have all been touched since: what has
// not been touched shows that the namespace was there.
func (c contents) begin(touched contents, tell func(nodev1.WatchType, string) error) error {
	names := touched
	if touched == nil {
		names = c
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		kind := nodev1.WatchType_WATCH_TYPE_ADDED
		if len(c[name]) == 0 {
			kind = nodev1.WatchType_WATCH_TYPE_DELETED
		}
		untouched := func(ref node.ObjectRef) bool { return !touched[name][ref] }
		if touched != nil && slices.ContainsFunc(slices.Collect(maps.Keys(c[name])), untouched) {
			continue
		}
		if err := tell(kind, name); err != nil {
			return err
		}
	}
	return nil
}

// namespacesLike returns what a selection asks of the name of a namespace.
func namespacesLike(of selection) (func(name string) bool, error) {
	byLabel, byField, err := selectors(of)
	if err != nil {
		return nil, err
	}
	return func(name string) bool {
		return byLabel.Matches(labels.Set{corev1.LabelMetadataName: name}) &&
			byField.Matches(fields.Set{"metadata.name": name, "status.phase": string(corev1.NamespaceActive)})
	}, nil
}

func shownNamespace(name string, revision int64) *object {
	made := &object{Object: map[string]any{"status": map[string]any{"phase": string(corev1.NamespaceActive)}}}
	made.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	made.SetName(name)
	made.SetLabels(map[string]string{corev1.LabelMetadataName: name})
	made.SetResourceVersion(versionOf(revision))
	return made
}
