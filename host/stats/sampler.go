package stats

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/history"
	"nodal/node/store"
)

// SamplerConfig holds the sources of a sampler.
type SamplerConfig struct {
	Cgroups  Cgroups
	Views    func() ([]store.View, int64) // of the pods
	Revision func() int64                 // of the views; pods are listed again once it has moved
	Proc     string                       // the kernel's figures; empty: /proc
}

// Sampler reads the figures that the node remembers: few, and always. It opens the files of a cgroup once, calls no
// runtime, and allocates nothing as long as the pods stay the same. It is for one goroutine.
type Sampler struct {
	config   SamplerConfig
	room     []byte // for one file's text
	revision int64
	listed   bool
	node     watchedNode
	pods     []*watched // in the order in which they began
	sample   history.Sample
}

// watched is a pod whose cgroup is read.
type watched struct {
	series   *history.Series
	path     string // of the cgroup
	revision int64  // of the pod, when its limits were read
	files    cgroupFiles
	spent    meter
	seen     bool // in the list at hand
}

// NewSampler returns a sampler that has opened no file.
func NewSampler(config SamplerConfig) *Sampler {
	if config.Proc == "" {
		config.Proc = "/proc"
	}
	return &Sampler{config: config, room: make([]byte, 16<<10)}
}

// Sample reads the node and its pods. The sample is valid until the next call. A pod without a cgroup of its own is not
// in it, nor is one whose cgroup is gone.
func (s *Sampler) Sample(now time.Time) *history.Sample {
	if revision := s.config.Revision(); !s.listed || revision != s.revision {
		s.list()
		s.listed, s.revision = true, revision
	}
	s.sample.At, s.sample.Of = now.Unix(), s.sample.Of[:0]
	if figures, ok := s.node.read(s, now); ok {
		s.sample.Of = append(s.sample.Of, history.Entry{Series: &s.node.series, Figures: figures})
	}
	for _, p := range s.pods {
		if figures, ok := p.read(s, now); ok {
			s.sample.Of = append(s.sample.Of, history.Entry{Series: p.series, Figures: figures})
		}
	}
	return &s.sample
}

// list follows which pods there are. Those that go on keep their places.
func (s *Sampler) list() {
	if s.config.Cgroups.Pod == nil {
		return
	}
	known := make(map[types.UID]*watched, len(s.pods))
	for _, p := range s.pods {
		p.seen = false
		known[p.series.UID] = p
	}
	views, _ := s.config.Views()
	for _, v := range views {
		if v.Slot == nil || v.Gone || v.Got == nil || !ready(v.Got) {
			continue
		}
		path := s.config.Cgroups.Pod(v.Slot.Pod.Object)
		if path == "" {
			continue
		}
		p := known[v.Slot.Pod.UID()]
		if p == nil {
			p = s.watch(v.Slot.Pod, path)
		}
		p.seen = true
		if p.revision != v.Revision {
			p.revision = v.Revision
			p.readLimits(s)
		}
	}
	s.pods = slices.DeleteFunc(s.pods, func(p *watched) bool {
		if !p.seen {
			p.files.close()
		}
		return !p.seen
	})
}

func (s *Sampler) watch(pod *node.Pod, path string) *watched {
	p := &watched{path: path, series: &history.Series{UID: pod.UID(), Key: pod.Key()}, files: closedFiles}
	s.pods = append(s.pods, p)
	return p
}

// readLimits reads the limits of the pod's cgroup. Other limits than before begin another series.
func (p *watched) readLimits(s *Sampler) {
	r := &reader{room: s.room}
	g := &group{tree: &tree{in: s.config.Cgroups}, path: p.path}
	now := *p.series
	now.MemoryLimit, now.CPULimit = g.limitsOnce(r)
	if now != *p.series {
		p.series = &now
	}
}

// limitsOnce reads the limits of memory, in bytes, and of the CPU, in thousandths of a core. It leaves no file open.
func (g *group) limitsOnce(r *reader) (memory, cpu uint64) {
	var quota, period uint64
	if g.version() == 2 {
		memory = number(g.text(r, "memory", "memory.max"))
		text := g.text(r, "cpu", "cpu.max")
		quota = leading(text)
		if i := slices.Index(text, ' '); i >= 0 {
			period = leading(text[i+1:])
		}
	} else {
		memory = number(g.text(r, "memory", "memory.limit_in_bytes"))
		quota, period = number(g.text(r, "cpu", "cpu.cfs_quota_us")), number(g.text(r, "cpu", "cpu.cfs_period_us"))
	}
	if memory >= 1<<62 { // the kernel's word for none
		memory = 0
	}
	if quota > 0 && period > 0 && quota < 1<<40 {
		cpu = quota * 1000 / period
	}
	return memory, cpu
}

// read returns what the pod has used since it was read last. It returns false if there is no cgroup.
func (p *watched) read(s *Sampler, now time.Time) (history.Figures, bool) {
	in := &s.config.Cgroups
	text, ok := p.files.text(s.room, in, p.path, ofCPU)
	spent := leading(text)
	if in.Version == 2 {
		spent = valueOf(text, usageUsec) * uint64(time.Microsecond)
	}
	if !ok {
		p.files.close() // there may be a new cgroup of the name
		p.spent = meter{}
		return history.Figures{}, false
	}
	f := history.Figures{CPU: p.spent.rate(spent, now)}
	text, _ = p.files.text(s.room, in, p.path, ofMemory)
	used := leading(text)
	text, _ = p.files.text(s.room, in, p.path, ofMemoryParts)
	idle := valueOf(text, inactiveFile[in.Version-1])
	f.Pages = history.Pages(used - min(used, idle))
	text, _ = p.files.text(s.room, in, p.path, ofTasks)
	f.Tasks = leading(text)
	return f, true
}

// meter turns a counter of CPU time into an average.
type meter struct {
	spent uint64
	at    time.Time
}

// rate returns the average since the last call in ten-thousandths of a core, or history.UnknownCPU.
func (m *meter) rate(spent uint64, now time.Time) int64 {
	before := *m
	m.spent, m.at = spent, now
	since := now.Sub(before.at) // by the clock that is never set
	if before.at.IsZero() || since <= 0 || spent < before.spent {
		return history.UnknownCPU
	}
	return int64(float64(spent-before.spent) / float64(since) * 1e4)
}

// Close closes all files.
func (s *Sampler) Close() {
	for _, p := range s.pods {
		p.files.close()
	}
	s.node.files.close()
	s.pods, s.listed = nil, false
}
