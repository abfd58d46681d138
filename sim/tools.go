package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/reconciler"
)

// ClaimTwice has each pod know a claim under a UID of its own.
const ClaimTwice Bug = "knowing a shared claim under several UIDs"

// toolDriver is the driver of the machine's tools.
const toolDriver = "tool.sim.example"

// tools are devices that pods share by resource claims, and their driver. They have a random source of their own.
type tools struct {
	*world
	rand  *rand.Rand
	on    bool // pods use claims in this run
	bug   Bug
	away  bool               // the driver
	ready map[types.UID]bool // the claims that it has prepared
	lost  bool               // with the record of a pod, what it held was lost
}

var _ reconciler.ClaimDrivers = (*tools)(nil)

func newTools(w *world, o Options) *tools {
	r := rand.New(rand.NewPCG(o.Seed, 10))
	return &tools{world: w, rand: r, on: r.IntN(3) == 0 && !o.Guarded && !o.Down, bug: o.Bug, ready: map[types.UID]bool{}}
}

// claiming has some pods use one of two claims.
func (g *tools) claiming(pod *corev1.Pod) {
	if !g.on || g.rand.IntN(2) == 0 {
		return
	}
	claim := fmt.Sprintf("claim%d", g.rand.IntN(2))
	uid := types.UID(claim)
	if g.bug == ClaimTwice {
		uid += types.UID("@" + pod.Name)
	}
	text, err := json.Marshal([]node.DeviceClaim{{
		Name: "tool", Claim: claim, UID: uid, Devices: []node.AllocatedDevice{{Request: "one", Driver: toolDriver, Pool: "p", Device: claim}},
	}})
	if err != nil {
		panic(err)
	}
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, node.AnnotationClaims, string(text))
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "tool", ResourceClaimName: &claim}}
	for c := range specs(pod) {
		c.Resources.Claims = []corev1.ResourceClaim{{Name: "tool"}}
	}
}

// strive has the driver go and come, until the time for faults is over.
func (g *tools) strive() {
	if !g.on {
		return
	}
	g.after(time.Duration(g.rand.ExpFloat64()*float64(15*time.Second)), func() {
		if g.now < strife {
			g.away = !g.away
			g.trace.addf("world: the driver of claims is away: %t", g.away)
			g.strive()
		}
	})
}

// calm brings the driver back.
func (g *tools) calm() { g.away = false }

// claimOf returns the claim that a UID stands for.
func claimOf(uid types.UID) types.UID {
	name, _, _ := strings.Cut(string(uid), "@")
	return types.UID(name)
}

func (g *tools) Find(driver string) error {
	if g.away {
		g.met.addf("claims: the driver is away")
		return fmt.Errorf("DRA driver %s is not registered", driver)
	}
	return nil
}

// Hold waits for nothing: an action has its effect at once.
func (g *tools) Hold(context.Context, string, []node.ClaimRef) (release func(), err error) {
	return func() {}, nil
}

// Prepare prepares claims. Now and then it fails although it has.
func (g *tools) Prepare(_ context.Context, driver string, claims []node.ClaimRef) (map[types.UID][]node.PreparedDevice, error) {
	if err := g.Find(driver); err != nil {
		return nil, err
	}
	answers := map[types.UID][]node.PreparedDevice{}
	for _, c := range claims {
		g.ready[claimOf(c.UID)] = true
		answers[c.UID] = []node.PreparedDevice{{Pool: "p", Device: c.Name, CDI: []string{"sim.example/tool=" + c.Name}}}
	}
	if g.now < strife && g.rand.IntN(5) == 0 {
		g.met.addf("claims: the driver fails after it has prepared one")
		return nil, errors.New("the driver fails after its effect")
	}
	g.met.addf("claims: the driver has prepared one")
	return answers, nil
}

// Unprepare takes claims back, and checks that no container has them. Now and then it fails although it has done so.
func (g *tools) Unprepare(_ context.Context, driver string, claims []node.ClaimRef) error {
	if err := g.Find(driver); err != nil {
		return err
	}
	for _, ref := range claims {
		claim := claimOf(ref.UID)
		for _, c := range g.containers {
			if c.running() && !c.late && c.claim == claim {
				g.witness.failf("claim %s is unprepared beneath %s", claim, c)
			}
		}
		delete(g.ready, claim)
	}
	if g.now < strife && g.rand.IntN(5) == 0 {
		g.met.addf("claims: the driver fails after it has unprepared one")
		return errors.New("the driver fails after its effect")
	}
	g.met.addf("claims: the driver has unprepared one")
	return nil
}

func (g *tools) Handled(string, error, time.Duration) {}

// unsettled returns an error unless the claims that are prepared are those that pods hold.
func (g *tools) unsettled(a *agent) error {
	held := map[types.UID]bool{}
	views, _ := a.store.Views()
	for _, v := range views {
		for _, c := range v.Slot.Pod.Claims {
			if len(c.Drivers) > 0 {
				held[claimOf(c.UID)] = true
			}
		}
		if v.Slot.Result != nil && v.Slot.Pod.HoldsClaims() {
			return fmt.Errorf("pod %s has ended and holds a claim", v.Key)
		}
	}
	for claim := range g.ready {
		if !held[claim] && !g.lost {
			return fmt.Errorf("claim %s is prepared, and no pod holds it", claim)
		}
	}
	return nil
}

// claimed checks that the claim of a new container is prepared, and that the container gets its device.
func (wi *witness) claimed(g *tools, pod *node.Pod, c *container) {
	spec := specOf(pod.Object, c.name)
	if len(pod.Claims) == 0 || spec == nil || len(spec.Resources.Claims) == 0 {
		return
	}
	c.claim = claimOf(pod.Claims[0].UID)
	if want := []string{"sim.example/tool=" + string(c.claim)}; !c.late && (!g.ready[c.claim] || !slices.Equal(pod.ClaimedCDI(spec), want)) {
		wi.failf("%s is made with %q, and claim %s is prepared: %t", c, pod.ClaimedCDI(spec), c.claim, g.ready[c.claim])
	}
}
