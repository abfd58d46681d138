package member

import (
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDriversAreOverdueAWhileAfterTheyWent(t *testing.T) {
	s := &deviceSlices{gone: map[string]time.Time{}}
	began := time.Now()
	for _, c := range []struct {
		name        string
		after       time.Duration
		there, want []string
	}{
		{"both are there", 0, []string{"a", "b"}, nil},
		{"one is gone", 10 * time.Second, []string{"a"}, nil},
		{"it stays away", 30 * time.Second, []string{"a"}, nil},
		{"long enough", 40 * time.Second, []string{"a"}, []string{"b"}},
		{"it is back", 50 * time.Second, []string{"a", "b"}, nil},
		{"both are gone", 60 * time.Second, nil, nil},
		{"one is back in time", 80 * time.Second, []string{"a"}, nil},
		{"the other is not", 90 * time.Second, []string{"a"}, []string{"b"}},
	} {
		if got := s.overdue(c.there, began.Add(c.after)); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestSlicesOfDriversThatAreUnknownAreRemoved(t *testing.T) {
	var asked []string
	code := 200
	server := apiServer(func(r *http.Request) (int, any, error) {
		asked = append(asked, r.Method+" "+r.URL.Query().Get("fieldSelector"))
		if code != 200 {
			return code, refused(code, metav1.StatusReasonNotFound), nil
		}
		list := resourcev1.ResourceSliceList{TypeMeta: metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceSliceList"}}
		for _, driver := range []string{"here", "gone"} {
			list.Items = append(list.Items, resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Driver: driver}})
		}
		return code, list, nil
	})
	s := &deviceSlices{nodeName: "node-a", cluster: server.dial(t), log: slog.New(slog.DiscardHandler), gone: map[string]time.Time{"here": {}}}
	if err := s.wipeFormer(t.Context()); err != nil {
		t.Error(err)
	}
	want := []string{"GET spec.nodeName=node-a", "DELETE spec.driver=gone,spec.nodeName=node-a"}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	code = 404
	if err := s.wipeFormer(t.Context()); err != nil {
		t.Errorf("a cluster without ResourceSlices: %v", err)
	}
}
