package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/intake"
)

// The bugs of a node that takes objects from files.
const (
	PruneUnread Bug = "pruning objects while their directory cannot be read"
	TakeOver    Bug = "changing objects of files over the API"
)

// filed stands for objects in the directory of static pods, and for clients that claim the same names. Files change, break,
// go and come back; two of them may name one object, and their directory is away now and then.
type filed struct {
	clients *clients
	on      bool
	away    bool
	files   map[string]*objectFile        // by origin
	posted  map[node.ObjectRef]string     // values that the API has acknowledged
	open    map[node.ObjectRef]bool       // of these, the ones with a change whose outcome is not known
	held    map[node.ObjectRef]objectFile // what the node has acknowledged of files that still say so
}

// objectFile is a file with one object.
type objectFile struct {
	origin string
	ref    node.ObjectRef
	value  string
	broken bool // it cannot be read; the node keeps what it has of it
}

func newFiled(c *clients, on bool) *filed {
	return &filed{
		clients: c, on: on, files: map[string]*objectFile{}, posted: map[node.ObjectRef]string{},
		open: map[node.ObjectRef]bool{}, held: map[node.ObjectRef]objectFile{},
	}
}

// filedObject returns the name of an object that may stand in files.
func filedObject(n int) node.ObjectRef {
	return node.ObjectRef{Kind: node.ConfigMap, Namespace: "default", Name: fmt.Sprintf("filed%d", n)}
}

func configMap(ref node.ObjectRef, value string) *node.Object {
	return node.NewObject(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}, Data: map[string]string{"v": value},
	})
}

// strive has authors and clients act until the time for faults is over.
func (f *filed) strive(s *simulation) {
	if !f.on {
		return
	}
	s.recur(4*time.Second, func() {
		f.edit()
		if s.agent != nil {
			s.clients.deliver(s.agent)
		}
	})
	s.recur(10*time.Second, func() {
		if s.agent != nil && !s.agent.dead {
			f.post(s.agent)
		}
	})
	s.recur(40*time.Second, func() { f.away = !f.away })
}

// calm mends the directory.
func (f *filed) calm(s *simulation) {
	if !f.on {
		return
	}
	f.away = false
	for _, file := range f.files {
		file.broken = false
	}
	if s.agent != nil {
		s.clients.deliver(s.agent)
	}
}

// edit changes the directory.
func (f *filed) edit() {
	origin := fmt.Sprintf("objects%d.yaml", f.clients.pick(3))
	file, there := f.files[origin]
	switch {
	case there && f.clients.pick(4) == 0:
		delete(f.files, origin)
		f.letGo(origin)
	case there && f.clients.pick(3) == 0:
		file.broken = true
	default:
		f.letGo(origin)
		f.files[origin] = &objectFile{origin: origin, ref: filedObject(f.clients.pick(3)), value: fmt.Sprint(f.clients.pick(1000))}
	}
	f.clients.world.trace.addf("files: %s is %+v", origin, f.files[origin])
}

// letGo forgets what the node owes to a file as it was.
func (f *filed) letGo(origin string) {
	maps.DeleteFunc(f.held, func(_ node.ObjectRef, held objectFile) bool { return held.origin == origin })
}

// deliveries returns what can be read of the directory, and the origins that the node has to keep.
func (f *filed) deliveries(in intake.Intake, bug Bug) (deliveries []intake.Delivery, keep map[string]bool) {
	keep = map[string]bool{}
	if f.away && bug != PruneUnread {
		return nil, in.Origins()
	}
	for _, origin := range slices.Sorted(maps.Keys(f.files)) {
		file := f.files[origin]
		switch {
		case f.away:
		case file.broken:
			keep[origin] = true
		default:
			deliveries = append(deliveries, intake.Delivery{Object: configMap(file.ref, file.value), Origin: origin})
		}
	}
	return deliveries, keep
}

// judge checks what the node has made of a delivery. It takes the conflicts out of the problems: they stand for as long as
// the files do.
func (f *filed) judge(a *agent, problems map[string]error) {
	if !f.on {
		return
	}
	f.keeps(a)
	if f.away {
		f.clients.world.met.addf("files: the directory is away")
		return
	}
	for _, origin := range slices.Sorted(maps.Keys(f.files)) {
		f.taken(a, f.files[origin], problems)
	}
	f.leaves(a, problems)
}

// taken checks that a file is in force, or that another owner is what stands in its way.
func (f *filed) taken(a *agent, file *objectFile, problems map[string]error) {
	err := problems[file.origin]
	o, there := a.store.Object(file.ref)
	switch {
	case file.broken:
	case errors.Is(err, node.ErrConflict):
		delete(problems, file.origin)
		f.clients.world.met.addf("files: a conflict")
		if owned := there && o.Origin != file.origin; !owned && !f.rivaled(file) {
			f.failf("%s of %s has a conflict without another owner: %v", file.ref, file.origin, err)
		}
	case err != nil: // the disk is full
	case !there || o.Origin != file.origin || o.ConfigMap().Data["v"] != file.value:
		f.failf("%s of %s was acknowledged and is not in force", file.ref, file.origin)
	default:
		f.held[file.ref] = *file
	}
}

// rivaled reports whether another file names the object of a file too.
func (f *filed) rivaled(file *objectFile) bool {
	for _, other := range f.files {
		if other != file && other.ref == file.ref {
			return true
		}
	}
	return false
}

// leaves checks that nothing is left of files that are gone, but for what another file has that could not be taken.
func (f *filed) leaves(a *agent, problems map[string]error) {
	owed := map[node.ObjectRef]bool{}
	for origin, file := range f.files {
		owed[file.ref] = owed[file.ref] || problems[origin] != nil
	}
	all, _ := a.store.Objects(node.ConfigMap)
	for _, o := range all {
		if owed[o.Ref()] {
			continue
		}
		file := f.files[o.Origin]
		if o.Owner() == node.SourceFile && (file == nil || !file.broken && file.ref != o.Ref()) && problems[o.Origin] == nil {
			f.failf("%s is there, and %s does not have it", o.Ref(), o.Origin)
		}
	}
}

// keeps checks that what was acknowledged is in force: that of files that were not seen to go or change, and what was posted.
func (f *filed) keeps(a *agent) {
	for ref, file := range f.held {
		if o, there := a.store.Object(ref); !there || o.Origin != file.origin || o.ConfigMap().Data["v"] != file.value {
			f.failf("%s of %s is gone or changed, and the file was not seen to be", ref, file.origin)
		}
	}
	for ref, value := range f.posted {
		if o, there := a.store.Object(ref); !f.open[ref] && (!there || o.Owner() != node.SourceAPI || o.ConfigMap().Data["v"] != value) {
			f.failf("%s was posted and is gone or changed", ref)
		}
	}
}

// recollect finds out what became of changes that had no answer.
func (f *filed) recollect(a *agent) {
	f.keeps(a)
	for ref := range f.open {
		delete(f.posted, ref)
		if o, there := a.store.Object(ref); there && o.Owner() == node.SourceAPI {
			f.posted[ref] = o.ConfigMap().Data["v"]
		}
	}
	clear(f.open)
}

// post has a client of the API claim a name, or give it up.
func (f *filed) post(a *agent) {
	ref, value := filedObject(f.clients.pick(3)), fmt.Sprint(f.clients.pick(1000))
	in := f.clients.intake(a, node.SourceAPI)
	if a.bug == TakeOver {
		in.Sources = map[node.Source]string{}
	}
	before, there := a.store.Object(ref)
	ofFile := there && before.Owner() == node.SourceFile
	var err error
	gives := f.clients.pick(2) == 0
	if gives {
		err = in.DeleteObject(ref, f.clients.world.clock())
	} else {
		_, _, err = in.Apply([]intake.Delivery{{Object: configMap(ref, value)}}, f.clients.world.clock())
	}
	f.clients.world.trace.addf("client: post %s with %s, or give it up: %t: %v", ref, value, gives, err)
	switch {
	case errors.Is(err, errCrashed):
		f.open[ref] = true
	case ofFile && !errors.Is(err, node.ErrConflict):
		f.failf("%s belongs to %s, and the API was answered %v", ref, before.Origin, err)
	case ofFile:
		f.clients.world.met.addf("files: the API is refused")
	case err == nil && gives:
		delete(f.posted, ref)
	case err == nil:
		f.posted[ref] = value
	}
}

func (f *filed) failf(format string, args ...any) { f.clients.world.witness.failf(format, args...) }
