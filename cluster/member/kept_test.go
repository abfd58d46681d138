package member

import (
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
)

// forgetful is an API server of one pod that does not know the resources in a status.
type forgetful struct {
	pod  *corev1.Pod
	puts int
}

func (f *forgetful) answer(r *http.Request) (int, any, error) {
	f.puts++
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, nil, err
	}
	var sent corev1.Pod
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, &sent); err != nil {
		return 0, nil, err
	}
	sent.Status.Resources = nil
	after := f.pod.DeepCopy()
	if !equality.Semantic.DeepEqual(sent.Status, f.pod.Status) {
		after.Status, after.ResourceVersion = sent.Status, strconv.Itoa(f.puts)
	}
	after.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	f.pod = after
	return http.StatusOK, after, nil
}

func TestAStatusThatTheClusterDoesNotKeepWholeHoldsUpNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		sides  sides
		queued int // as no watch will show a change
	}{
		{"one that tells more than what is dropped", given(wanted("u1"), here("u1"), runs(false)), 0},
		{"one that tells nothing else", given(wanted("u1"), here("u1"), runs(true)), 1},
		{"the last one of a pod", given(wanted("u1"), here("u1"), runs(false), gone, deleted(30)), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, key := c.sides, types.NamespacedName{Namespace: "default", Name: "web"}
			s.want.ResourceVersion = "0"
			s.have.object.Status.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
			server := &forgetful{pod: s.want}
			p := newPods("n", apiServer(server.answer).dial(t), bare{}, stocked(s.want), slog.New(slog.DiscardHandler))
			defer p.queue.ShutDown()
			p.wanted = cache.NewStore(cache.MetaNamespaceKeyFunc)
			p.entries[key] = &entry{local: s.have, applied: s.applied}
			for step := next(p.shown(t, key, server.pod)); step.verb == report && server.puts < 5; step = next(p.shown(t, key, server.pod)) {
				if err := p.report(t.Context(), server.pod, &step.status); err != nil {
					t.Fatal(err)
				}
			}
			if server.puts != 1 || p.queue.Len() != c.queued {
				t.Errorf("the status is sent %d times, want once, and the pod is queued %d times, want %d", server.puts, p.queue.Len(), c.queued)
			}
			if s.have.gone {
				return
			}
			s.have.object.Status.Message = "more" // which is news
			if step := next(p.shown(t, key, server.pod)); step.verb != report {
				t.Errorf("after a change comes %s, want a report", step)
			}
		})
	}
}

// shown has the cluster's watch show a pod, and returns both sides then.
func (p *pods) shown(t *testing.T, key types.NamespacedName, pod *corev1.Pod) sides {
	t.Helper()
	if err := p.wanted.Add(pod); err != nil {
		t.Fatal(err)
	}
	return p.sides(key)
}
