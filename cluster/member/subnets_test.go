package member

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheNodeKnowsItsSubnetsBeforeItsFirstPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		found := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}}
		server := apiServer(func(*http.Request) (int, any, error) {
			asked++
			return http.StatusOK, found, nil
		})
		board := &subnetBoard{err: errors.New("away")}
		s := &subnets{nodeName: "n", cluster: server.dial(t), board: board}
		there, hosts := object("u1"), object("u2")
		hosts.Spec.HostNetwork = true
		steps := []struct {
			name  string
			pod   *corev1.Pod
			wait  time.Duration
			cidrs []string
			err   error
			asked int
			told  int
			works bool
		}{
			{"a pod in the host's network needs none", hosts, 0, nil, nil, 0, 0, true},
			{"there are none yet", there, 0, nil, nil, 1, 0, true},
			{"another pod right after it does not ask", there, 0, []string{"10.244.1.0/24"}, nil, 1, 0, true},
			{"the next one waits until the node takes them", there, lookEvery, []string{"10.244.1.0/24"}, errors.New("away"), 2, 1, false},
			{"and then goes", there, lookEvery, []string{"10.244.1.0/24"}, nil, 3, 2, true},
			{"later ones do not ask", there, lookEvery, nil, nil, 3, 2, true},
		}
		for _, c := range steps {
			time.Sleep(c.wait)
			found.Spec.PodCIDRs, board.err = c.cidrs, c.err
			if err := s.before(t.Context(), c.pod); (err == nil) != c.works || asked != c.asked || len(board.told) != c.told {
				t.Errorf("%s: got %v, asked the cluster %d times, told the node %q", c.name, err, asked, board.told)
			}
		}
		if err := s.tell(t.Context(), []string{"10.244.2.0/24"}); err != nil || !slices.Equal(board.told[2:], []string{"10.244.2.0/24"}) {
			t.Errorf("after a change the node was told %q, %v", board.told, err)
		}
	})
}
