package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/reconciler"
)

// GrowOnPaper tells the claim of a volume that it has grown, and not the driver.
const GrowOnPaper Bug = "telling a claim of a growth that the driver did not hear of"

// grown is the realm of volumes that grow while pods have them. Each pod has one of two.
type grown struct {
	still
	*world
	faults *faults
	plots  []*plot
	news   int64
}

var _ realm = (*grown)(nil)

// plot is a volume with its sizes in bytes, which outlive agents.
type plot struct {
	name    string
	whole   int64 // its capacity
	usable  int64 // as its driver has made it
	claimed int64 // as its claim knows
	mounted bool  // a pod has it
}

func newGrown(w *world, o Options) *grown {
	g := &grown{world: w, faults: newFaults(rand.New(rand.NewPCG(o.Seed, 11)), o.Without), news: 1}
	for _, name := range []string{"field", "yard"} {
		g.plots = append(g.plots, &plot{name: name, whole: 1, usable: 1, claimed: 1})
	}
	return g
}

func (g *grown) name() string    { return "GrownVolume" }
func (g *grown) chance() *faults { return g.faults }

// of returns the volume that a pod has.
func (g *grown) of(pod node.Key) *plot { return g.plots[len(pod.Name)%len(g.plots)] }

// named returns the volume of a name.
func (g *grown) named(name string) *plot {
	for _, p := range g.plots {
		if p.name == name {
			return p
		}
	}
	panic("no volume " + name)
}

// volume returns the volume as the node knows it.
func (p *plot) volume() *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: p.name}}
	v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "land", VolumeHandle: p.name}
	v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(p.whole, resource.BinarySI)}
	return v
}

// Revision and Changed make the realm the board: it rings when a volume has grown, and when a pod gets one.
func (g *grown) Revision() int64          { return g.news }
func (g *grown) Changed() <-chan struct{} { return nil } // whatever rings it brings a turn

func (g *grown) kind(a *agent) reconciler.Kind {
	return reconciler.GrownVolumes(surveyor{g, a}, surveyor{g, a}, g)
}

// surveyor is the adapter of one agent, and its view of claims.
type surveyor struct {
	*grown
	agent *agent
}

var (
	_ reconciler.Growths        = surveyor{}
	_ reconciler.GrowingVolumes = surveyor{}
)

func (s surveyor) Grown() (all []node.VolumeGrowth) {
	for _, p := range s.plots {
		if p.whole > p.claimed {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: p.name}}
			all = append(all, node.VolumeGrowth{Volume: p.volume(), Claim: claim, Able: true})
		}
	}
	return all
}

func (s surveyor) Uses(pod *node.Pod, claim *corev1.PersistentVolumeClaim) bool {
	view, ok := s.agent.store.View(pod.Key())
	return ok && view.Slot.Result == nil && s.of(pod.Key()).name == claim.Name
}

// Has shows a volume as one that a pod has from the second look on.
func (s surveyor) Has(_ context.Context, id node.CSIVolume) (bool, error) {
	p := s.named(id.Handle)
	had := p.mounted
	if p.mounted = true; !had {
		s.news++
	}
	return had, nil
}

// Expand makes a volume usable as a whole. Now and then the driver fails.
func (s surveyor) Expand(_ context.Context, v *corev1.PersistentVolume) error {
	p := s.named(v.Name)
	if !p.mounted {
		s.witness.failf("volume %s is expanded, and no pod has it", p.name)
	}
	if s.now < strife && s.faults.rand.IntN(10) == 0 {
		s.met.addf("growth: the driver fails")
		return refused(node.VolumeResizeFailed, "volume %s cannot grow", p.name)
	}
	if s.agent.bug != GrowOnPaper {
		p.usable = max(p.usable, v.Spec.Capacity.Storage().Value())
	}
	return nil
}

func (s surveyor) Tell(growth node.VolumeGrowth) error {
	p, size := s.named(growth.Volume.Name), growth.Size()
	p.claimed = max(p.claimed, size.Value())
	if p.claimed > p.usable {
		s.witness.failf("the claim of volume %s knows of %d bytes, and %d are usable", p.name, p.claimed, p.usable)
	}
	return nil
}

// strive has a volume grow now and then, until the time for faults is over.
func (g *grown) strive(agent func() *agent) {
	g.after(time.Duration(g.faults.rand.ExpFloat64()*float64(20*time.Second)), func() {
		if g.now >= strife {
			return
		}
		p := g.plots[g.faults.rand.IntN(len(g.plots))]
		if p.claimed < p.whole {
			g.met.addf("growth: once more before the last is done")
		}
		p.whole++
		g.news++
		if a := agent(); a != nil {
			a.turn()
		}
		g.strive(agent)
	})
}

func (g *grown) calm() { g.faults.end() }

func (g *grown) bugs() []planted { return []planted{{GrowOnPaper, 0, 20, "are usable"}} }

func (g *grown) situations() []string {
	return append(deaths("ExpandVolume"),
		"ExpandVolume fails", "ExpandVolume fails after its effect", "ExpandVolume has no answer",
		"growth: the driver fails", "growth: once more before the last is done")
}

// unsettled returns an error unless each volume that a pod has is usable as a whole, and its claim knows.
func (g *grown) unsettled(a *agent) error {
	views, _ := a.store.Views()
	for _, view := range views {
		if p := g.of(view.Key); view.Slot.Result == nil && (p.usable != p.whole || p.claimed != p.whole) {
			return fmt.Errorf("volume %s of pod %s has %d bytes, of which %d are usable, and its claim knows of %d",
				p.name, view.Key, p.whole, p.usable, p.claimed)
		}
	}
	return nil
}
