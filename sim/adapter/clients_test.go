package adapter

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/intake"
	"nodal/node/manifest"
	"nodal/node/storage"
)

// clients stands for the users of the API and the author of a static pod.
type clients struct {
	*run
	posted map[node.Key]*corev1.Pod // the last manifest posted, by key
	uids   int
	images int // counts changes, so that each names a new image
}

func userKeys() []node.Key {
	return []node.Key{{Namespace: "default", Name: "web"}, {Namespace: "default", Name: "db"}}
}

func staticKey() node.Key { return node.Key{Namespace: "default", Name: "static"} }

func (c *clients) intake(source node.Source) intake.Intake {
	return intake.Intake{Store: c.agent.store, Source: source, Storage: storage.Keeper{}, NewUID: func() types.UID {
		c.uids++
		return types.UID(fmt.Sprintf("u%d", c.uids))
	}}
}

// ask lets a client call the agent, which does not die before it has answered.
func (c *clients) ask(do func()) {
	if c.agent == nil {
		return
	}
	c.agent.asked.Store(true)
	do()
	c.agent.asked.Store(false)
}

// act does one random thing that a client may do.
func (c *clients) act() {
	key := userKeys()[c.rand.IntN(len(userKeys()))]
	switch c.rand.IntN(8) {
	case 0, 1, 2:
		c.ask(func() { c.apply(key) })
	case 3:
		c.ask(func() { c.remove(key) })
	case 4:
		c.ask(func() { c.restart(key) })
	case 5, 6:
		c.edit()
		c.deliver()
	}
}

// apply posts a new manifest, or a change of the last one.
func (c *clients) apply(key node.Key) {
	object := c.newPod(key)
	if last := c.posted[key]; last != nil && c.rand.IntN(4) > 0 {
		object = c.change(last)
	}
	_, _, err := c.intake(node.SourceAPI).Apply([]intake.Delivery{{Pod: object}}, time.Now())
	c.witness.trace.addf("client: apply %s: %v", key, err)
	if err == nil {
		c.posted[key] = object
		c.witness.acknowledge(c.agent.store, key)
	}
}

func (c *clients) remove(key node.Key) {
	r := intake.DeleteRequest{Key: key}
	if c.rand.IntN(2) == 0 {
		r.Grace = new(time.Duration(c.rand.IntN(20)) * time.Second)
	}
	_, err := c.intake(node.SourceAPI).Delete(r, time.Now())
	c.witness.trace.addf("client: delete %s: %v", key, err)
	if err == nil {
		delete(c.posted, key)
		c.witness.acknowledge(c.agent.store, key)
	}
}

func (c *clients) restart(key node.Key) {
	err := c.intake(node.SourceAPI).Restart(intake.RestartRequest{Key: key})
	c.witness.trace.addf("client: restart %s: %v", key, err)
	if err == nil {
		c.witness.acknowledge(c.agent.store, key)
	}
}

// edit changes the directory of static pods.
func (c *clients) edit() {
	switch last := c.posted[staticKey()]; {
	case last == nil:
		c.posted[staticKey()] = c.newPod(staticKey())
	case c.rand.IntN(3) == 0:
		delete(c.posted, staticKey())
		return
	default:
		c.posted[staticKey()] = c.change(last)
	}
	object := c.posted[staticKey()]
	object.UID = types.UID("f" + manifest.PodHash(object)[:12])
}

// deliver delivers the static pod to the node.
func (c *clients) deliver() {
	c.ask(func() {
		var deliveries []intake.Delivery
		if file := c.posted[staticKey()]; file != nil {
			deliveries = []intake.Delivery{{Pod: file, Origin: "static"}}
		}
		for _, err := range c.intake(node.SourceFile).Sync(deliveries, nil, time.Now()) {
			c.witness.trace.addf("client: deliver: %v", err)
			return
		}
		c.witness.trace.addf("client: deliver %d", len(deliveries))
		c.witness.acknowledge(c.agent.store, staticKey())
		c.witness.ready, c.agent.told = true, true
		c.agent.sources.Delivered(node.SourceFile, time.Now(), nil)
	})
}

// newPod returns a random pod.
func (c *clients) newPod(key node.Key) *corev1.Pod {
	policies := []corev1.RestartPolicy{
		corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever,
	}
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{"app": key.Name}},
		Spec: corev1.PodSpec{
			RestartPolicy: policies[c.rand.IntN(len(policies))], TerminationGracePeriodSeconds: new(int64(c.rand.IntN(15))),
			Containers: []corev1.Container{c.container("a")},
		},
	}
	if c.rand.IntN(2) == 0 {
		pod.Spec.Containers = append(pod.Spec.Containers, c.container("b"))
	}
	if c.rand.IntN(3) == 0 {
		prepare := c.container("init")
		prepare.Command = []string{"exit", "0", "after", "2s"}
		pod.Spec.InitContainers = []corev1.Container{prepare}
	}
	manifest.Default(pod)
	return pod
}

// container returns a container with a random program; most run until stopped.
func (c *clients) container(name string) corev1.Container {
	programs := [][]string{
		{"run"}, {"slow-term", "4s"}, {"ignore-term"},
		{"exit", "0", "after", "4s"}, {"exit", "1", "after", "2s"}, {"no-start"},
	}
	program := programs[0]
	if c.rand.IntN(2) == 0 {
		program = programs[c.rand.IntN(len(programs))]
	}
	return corev1.Container{Name: name, Image: c.image(), Command: program}
}

func (c *clients) image() string {
	c.images++
	return fmt.Sprintf("app:%d", c.images)
}

// change returns old with another image in one of its containers.
func (c *clients) change(old *corev1.Pod) *corev1.Pod {
	pod := old.DeepCopy()
	pod.Spec.Containers[c.rand.IntN(len(pod.Spec.Containers))].Image = c.image()
	return pod
}
