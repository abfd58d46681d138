package sim

import (
	"errors"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/intake"
	"nodal/node/manifest"
)

// cluster stands for a Kubernetes cluster that binds one pod to this node. It is heard late after each start of the
// agent, and posts its pod later still.
type cluster struct {
	clients *clients
	chance  *rand.Rand
	pod     *corev1.Pod // nil if there is no cluster
	posted  bool        // to the present agent
	unasked bool        // a bug: its claims are ignored
}

// joinCluster makes the node a member of a cluster in some runs. In most of these the cluster's pod runs already:
// another kubelet has started it, and there is no record of it.
func (s *simulation) joinCluster(seed uint64) {
	c := &cluster{clients: s.clients, chance: rand.New(rand.NewPCG(seed, 3))}
	s.cluster = c
	if c.chance.IntN(3) > 0 {
		return
	}
	c.pod = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "member", UID: "m1", Annotations: map[string]string{node.AnnotationFrom: node.Cluster},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "sim/slow:1"}}},
	}
	manifest.Default(c.pod)
	if c.chance.IntN(4) == 0 {
		return
	}
	s.witness.member = c.pod.UID
	s.run(node.KeyOf(c.pod), c.pod.UID, manifest.KubeletHash(&c.pod.Spec.Containers[0]))
}

// between returns a duration of the cluster's own chance.
func (c *cluster) between(low, high time.Duration) time.Duration {
	return low + time.Duration(c.chance.Int64N(int64(high-low)))
}

var _ node.Claims = (*cluster)(nil)

// Wants reports whether the cluster wants a pod on this node.
func (c *cluster) Wants(uid types.UID, _ bool) bool { return uid == c.pod.UID && !c.unasked }

// Delivered reports whether the present agent has got the pod.
func (c *cluster) Delivered(node.Key, types.UID) bool { return c.posted }

// await has the cluster answer an agent that has just started.
func (c *cluster) await(a *agent) {
	if c.pod == nil {
		return
	}
	c.posted, c.unasked = false, a.bug == UnaskedCluster
	c.clients.world.after(c.between(0, time.Minute), func() {
		if a.dead {
			return
		}
		c.clients.world.witness.cluster, a.claims = true, c
		a.delivered(node.SourceCluster)
		a.turn()
		c.clients.world.after(c.between(0, 20*time.Second), func() { c.post(a) })
	})
}

// post posts the pod, and again later if the node cannot take it now.
func (c *cluster) post(a *agent) {
	if a.dead {
		return
	}
	key := node.KeyOf(c.pod)
	_, _, err := c.clients.intake(a, node.SourceAPI).Apply([]intake.Delivery{{Pod: c.pod}}, c.clients.world.clock())
	c.clients.world.trace.addf("cluster: post %s: %v", key, err)
	switch {
	case errors.Is(err, errCrashed):
	case err != nil:
		c.clients.world.after(10*time.Second, func() { c.post(a) })
	default:
		c.posted = true
		c.clients.told(a, key)
		a.expect()
		c.clients.world.met.addf("cluster: posts a pod")
		a.turn()
	}
}

// owes reports whether the cluster has yet to post its pod.
func (c *cluster) owes() bool { return c.pod != nil && !c.posted }
