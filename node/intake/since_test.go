package intake

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

func settings(mode string) *node.Object {
	return node.NewObject(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}, Data: map[string]string{"mode": mode}})
}

func (b *bench) postSettings(mode string) {
	b.t.Helper()
	if _, _, err := b.in.Apply([]Delivery{{Object: settings(mode)}}, b.now); err != nil {
		b.t.Fatal(err)
	}
}

func TestAnObjectChangedMeanwhileIsLeftAlone(t *testing.T) {
	for _, c := range []struct {
		name      string
		looked    func(*bench) // what was there then
		meanwhile func(*bench)
		want      error
	}{
		{"nothing was there, nor is", func(*bench) {}, func(*bench) {}, nil},
		{"what was there has stayed as it was", func(b *bench) { b.postSettings("old"); b.apply(pod("web", "a:1")) }, func(*bench) {}, nil},
		{"something else has changed", func(b *bench) { b.postSettings("old") }, func(b *bench) { b.apply(pod("db", "b:1")) }, nil},
		{"it is gone", func(b *bench) { b.postSettings("old") }, func(b *bench) {
			if err := b.in.DeleteObject(settings("").Ref(), b.now); err != nil {
				b.t.Fatal(err)
			}
		}, nil},
		{"an object was made", func(*bench) {}, func(b *bench) { b.postSettings("theirs") }, node.ErrChanged},
		{"an object has changed", func(b *bench) { b.postSettings("old") }, func(b *bench) { b.postSettings("theirs") }, node.ErrChanged},
		{"a pod was made", func(*bench) {}, func(b *bench) { b.apply(pod("web", "a:1")) }, node.ErrChanged},
		{"a pod's status has changed", func(b *bench) { b.apply(pod("web", "a:1")) }, func(b *bench) { b.runs(node.ContainerRunning) }, node.ErrChanged},
	} {
		prepare := func(t *testing.T) (*bench, int64) {
			b := newBench(t)
			c.looked(b)
			since := b.in.Store.Revision()
			c.meanwhile(b)
			return b, since
		}
		t.Run("apply: "+c.name, func(t *testing.T) {
			b, since := prepare(t)
			before := b.in.Store.Revision()
			_, _, err := b.in.Apply([]Delivery{{Object: settings("new"), Since: &since}, {Pod: pod("web", "a:2"), Since: &since}}, b.now)
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if changed := b.in.Store.Revision() != before; changed == (c.want != nil) {
				t.Errorf("the node has changed: %t", changed)
			}
		})
		t.Run("delete: "+c.name, func(t *testing.T) {
			b, since := prepare(t)
			before := b.in.Store.Revision()
			_, _, err := b.in.DeleteAll([]node.Key{web}, []node.ObjectRef{settings("").Ref()}, nil, &since, b.now)
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if c.want != nil && b.in.Store.Revision() != before {
				t.Error("the node has changed")
			}
		})
	}
}

func TestAFutureRevisionIsRefused(t *testing.T) {
	b := newBench(t)
	since := b.in.Store.Revision() + 1
	if _, _, err := b.in.Apply([]Delivery{{Object: settings("new"), Since: &since}}, b.now); !errors.Is(err, node.ErrChanged) {
		t.Errorf("got %v, want %v", err, node.ErrChanged)
	}
}
