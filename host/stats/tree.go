package stats

import (
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/cadvisor/lib/model"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

const (
	// mostOpen bounds how many files of cgroups stay open. Each holds a page of the kernel's memory. It is enough for
	// 500 pods; further files are opened for each read.
	mostOpen = 8192
	// mostOfRest bounds the open files for files that only some collections read.
	mostOfRest = mostOpen / 2
	// openFor is the time for which files stay open after the last collection: longer than the
	// pause of any scraper.
	openFor = 2 * time.Minute
)

// Cgroups locates the cgroups in which the kernel counts what pods use.
type Cgroups struct {
	Version int                      // 1 or 2
	Dirs    map[string]string        // of each controller
	Pod     func(*corev1.Pod) string // a pod's cgroup below these; empty if it has none
	System  func() map[string]string // the cgroups of the node's own programs, by the kubelet's names for them; nil if unknown
}

// tree holds the cgroups that collections have found, with their open files.
type tree struct {
	in Cgroups

	mu    sync.Mutex
	known map[string]*group // by path, and by the runtime's id
	used  map[string]*group // of them, by the collection under way
	idle  *time.Timer       // forgets all of them after the last request

	open atomic.Int64 // files
}

func newTree(in Cgroups) *tree {
	return &tree{in: in, known: map[string]*group{}, used: map[string]*group{}}
}

// group returns the cgroup at a path.
func (t *tree) group(path string) *group {
	return t.keep(path, func() *group { return &group{tree: t, path: path} })
}

// child returns the cgroup of a container or sandbox within that of its pod, or nil if it has none.
func (t *tree) child(of *group, id string) *group {
	return t.keep(id, func() *group { return of.child(id) })
}

func (t *tree) keep(key string, find func() *group) *group {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.known[key]
	if g == nil {
		g = find()
	}
	if g != nil {
		t.known[key], t.used[key] = g, g
	}
	return g
}

// sweep closes the cgroups that were not used since the last call.
func (t *tree) sweep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, g := range t.known {
		if t.used[key] == nil {
			g.close()
		}
	}
	t.known, t.used = t.used, map[string]*group{}
	if t.idle == nil {
		t.idle = time.AfterFunc(openFor, t.forget)
	}
	t.idle.Reset(openFor)
}

func (t *tree) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.known {
		g.close()
	}
	clear(t.known)
	clear(t.used)
}

// take allows one more file to stay open, unless there are too many.
func (t *tree) take(most int64) bool {
	if t.open.Add(1) <= most {
		return true
	}
	t.open.Add(-1)
	return false
}

// group is one cgroup.
type group struct {
	tree *tree
	path string

	mu     sync.Mutex
	files  map[string]openFile // that stay open, by name
	closed bool                // no more of them

	allowed   model.ContainerSpec
	allowedAt time.Time
	ulimits   ulimits
	moved     moved
	listed    time.Time // when its processes were read last
}

// openFile is a file that stays open. It is read through raw: reading from the file itself takes a second call each
// time, to find its end.
type openFile struct {
	*os.File
	raw syscall.RawConn
}

func (g *group) version() int { return g.tree.in.Version }

func (g *group) file(controller, name string) string {
	return g.tree.in.Dirs[controller] + g.path + "/" + name
}

// child finds the cgroup in this one that the runtime has made for an id.
func (g *group) child(id string) *group {
	plain := &group{tree: g.tree, path: g.path + "/" + id}
	if _, err := os.Stat(plain.file("memory", "")); err == nil {
		return plain
	}
	entries, _ := os.ReadDir(g.file("memory", "")) // one that is gone has none
	for _, e := range entries {
		if e.IsDir() && strings.Contains(e.Name(), id) { // with systemd, runtimes put words around it
			return &group{tree: g.tree, path: g.path + "/" + e.Name()}
		}
	}
	return nil
}

// text returns the text of a file of the cgroup, valid until the reader's next read. It
// opens the file for each read, so it is for figures that are seldom read. Kernels
// differ in their files: a missing file returns no text.
func (g *group) text(r *reader, controller, name string) []byte {
	if g.tree.in.Dirs[controller] == "" {
		return nil
	}
	text, _ := r.read(g.file(controller, name))
	return text
}

// counts is text for a file that every collection reads. The file stays open: opening it takes ten times as long as
// reading it.
func (g *group) counts(r *reader, controller, name string) []byte {
	return g.textKept(r, controller, name, mostOpen)
}

// more is counts for a file that only some collections read.
func (g *group) more(r *reader, controller, name string) []byte {
	return g.textKept(r, controller, name, mostOfRest)
}

func (g *group) textKept(r *reader, controller, name string, most int64) []byte {
	if file := g.kept(controller, name, most); file != nil {
		if text, err := r.readOpen(file); err == nil {
			return text
		}
		g.drop(name) // the cgroup is gone; perhaps there is a new one
	}
	return g.text(r, controller, name)
}

// kept returns a file that stays open. It returns nil if the file is missing, or if too many are open.
func (g *group) kept(controller, name string, most int64) syscall.RawConn {
	g.mu.Lock()
	defer g.mu.Unlock()
	if file := g.files[name]; file.raw != nil || g.closed || g.tree.in.Dirs[controller] == "" || !g.tree.take(most) {
		return file.raw
	}
	fd, err := unix.Open(g.file(controller, name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		g.tree.open.Add(-1)
		return nil
	}
	if g.files == nil {
		g.files = map[string]openFile{}
	}
	file := os.NewFile(uintptr(fd), name) // os.Open would register it with the poller
	raw, err := file.SyscallConn()
	if err != nil {
		_ = file.Close() // it was only to be read
		g.tree.open.Add(-1)
		return nil
	}
	g.files[name] = openFile{file, raw}
	return raw
}

func (g *group) drop(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if file, ok := g.files[name]; ok {
		_ = file.Close() // it was only read
		delete(g.files, name)
		g.tree.open.Add(-1)
	}
}

func (g *group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, file := range g.files {
		_ = file.Close() // it was only read
	}
	g.tree.open.Add(-int64(len(g.files)))
	g.files, g.closed = nil, true
}
