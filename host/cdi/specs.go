package cdi

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/host/watch"
	"nodal/node"
	"nodal/node/store"
)

// patience bounds how long the runtime may take to say whether it gives devices.
const patience = 2 * time.Second

// Specs are the specs on the machine. Of two devices with one name that of the later directory counts, as for container
// runtimes.
type Specs struct {
	Dirs   []string
	Offers []node.CDIOffer
	Board  *store.Devices
	Log    *slog.Logger
	// Ignored reports whether the runtime makes containers without their CDI devices. It fails while the runtime does not
	// answer. nil if there is no runtime to ask.
	Ignored func(context.Context) (bool, error)

	unable string // why the runtime gives no devices, as it was when it last said so
	files  map[string]file
	gone   map[string]time.Time           // when a share was first missed
	said   map[corev1.ResourceName]string // the fault that was logged last
}

// file is a spec as it was read last.
type file struct {
	info os.FileInfo
	spec spec
	err  error
}

// Run looks at the specs when they change, until the context ends. It sees a device file that comes or goes at the next
// look, twice a minute: before 6.10, Linux tells of each write to a device of a directory that is watched.
func (s *Specs) Run(ctx context.Context) {
	if len(s.Offers) == 0 {
		return
	}
	w := watch.Open("the specs of CDI", s.Log)
	defer w.Close()
	for {
		s.ask(ctx)
		s.Look()
		w.Follow(s.paths()...)
		s.Look() // what has changed before it was followed
		if !w.Await(ctx) {
			return
		}
	}
}

// paths returns the specs as they were read last, and those that may come.
func (s *Specs) paths() (paths []string) {
	for _, dir := range s.Dirs {
		paths = append(paths, filepath.Join(dir, "any"))
	}
	return slices.AppendSeq(paths, maps.Keys(s.files))
}

// ignores says what to do about a runtime that would make containers without their devices, and report no fault.
const ignores = "the container runtime ignores CDI: set enable_cdi = true in the configuration of containerd 1.7, " +
	"or use the built-in runtime or containerd 2"

// ask asks the runtime whether it gives containers CDI devices. What it said before holds while it does not answer.
func (s *Specs) ask(ctx context.Context) {
	if s.Ignored == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if ignored, err := s.Ignored(ctx); err == nil {
		s.unable = ""
		if ignored {
			s.unable = ignores
		}
	}
}

// Look writes on the board which devices there are now. One that goes away is ill for as long as that of a plugin which
// went away counts for the capacity.
func (s *Specs) Look() {
	if s.files == nil {
		s.files, s.gone, s.said = map[string]file{}, map[string]time.Time{}, map[corev1.ResourceName]string{}
	}
	kinds, faults := s.read()
	for _, offer := range s.Offers {
		devices, ills := s.devices(offer, single(kinds[offer.Kind]), s.unable == "")
		fault := strings.Join(append(slices.Clone(faults), ills...), "; ")
		switch {
		case s.unable != "":
			fault = s.unable
		case len(kinds[offer.Kind]) == 0 && fault == "":
			fault = fmt.Sprintf("no spec in %s has devices of kind %s: generate one", strings.Join(s.Dirs, " or "), offer.Kind)
		}
		s.Board.Specified(offer, devices, fault, time.Now())
		if fault != "" && fault != s.said[offer.Resource] {
			s.Log.Warn("some devices cannot be had", "resource", offer.Resource, "kind", offer.Kind, "err", fault)
		}
		s.said[offer.Resource] = fault
	}
}

// devices returns the shares of a kind's devices, the first of each device first, so that containers get devices of their
// own as long as there are some. It also returns what is wrong with single devices.
func (s *Specs) devices(offer node.CDIOffer, there []device, able bool) (shares []node.Device, ills []string) {
	known := map[string]bool{}
	for k := range offer.Shares {
		for _, d := range there {
			file := d.missing()
			if file != "" && k == 0 {
				ills = append(ills, fmt.Sprintf("device %s needs %s, which this machine does not have", d.Name, file))
			}
			share := node.Device{ID: d.Name, Healthy: able && file == ""}
			if k > 0 {
				share.ID += separator + strconv.Itoa(k)
			}
			known[share.ID] = true
			delete(s.gone, offer.Kind+"="+share.ID)
			shares = append(shares, share)
		}
	}
	for _, d := range s.Board.Resource(offer.Resource).Devices {
		name := offer.Kind + "=" + d.ID
		if known[d.ID] {
			continue
		}
		if s.gone[name].IsZero() {
			s.gone[name] = time.Now()
		}
		if time.Since(s.gone[name]) < node.LostGrace {
			shares = append(shares, node.Device{ID: d.ID})
			ills = append(ills, "device "+d.ID+" has gone from the specs")
		}
	}
	return shares, ills
}

// separator stands between the name of a device and the number of its share. The first share has the name alone.
const separator = "::"

// nameOf returns the name of the device that a share belongs to.
func nameOf(share string) string {
	if at := strings.LastIndex(share, separator); at > 0 {
		if _, err := strconv.Atoi(share[at+len(separator):]); err == nil {
			return share[:at]
		}
	}
	return share
}

// read returns the devices of each kind, and what is wrong with specs. A file that has not changed is not read again. A
// device that two files of one directory name is left out, as by container runtimes.
func (s *Specs) read() (kinds map[string][]device, faults []string) {
	found, seen := map[string]map[string]device{}, map[string]file{}
	for _, dir := range s.Dirs {
		paths, err := list(dir)
		if err != nil {
			faults = append(faults, err.Error())
		}
		by := map[string]string{} // the file of this directory that names a device
		for _, path := range paths {
			f := s.look(path)
			seen[path] = f
			if f.err != nil {
				faults = append(faults, f.err.Error())
				continue
			}
			for _, d := range f.spec.Devices {
				name := f.spec.Kind + "=" + d.Name
				if other := by[name]; other != "" {
					faults = append(faults, fmt.Sprintf("%s and %s both have device %s: remove one", other, path, name))
					delete(found[f.spec.Kind], d.Name)
					continue
				}
				if by[name] = path; found[f.spec.Kind] == nil {
					found[f.spec.Kind] = map[string]device{}
				}
				found[f.spec.Kind][d.Name] = d
			}
		}
	}
	s.files, kinds = seen, map[string][]device{}
	for kind, devices := range found {
		for _, name := range slices.Sorted(maps.Keys(devices)) {
			kinds[kind] = append(kinds[kind], devices[name])
		}
	}
	return kinds, faults
}

// look returns a spec, which is read if it has changed.
func (s *Specs) look(path string) file {
	info, err := os.Stat(path)
	if err != nil {
		return file{err: err}
	}
	if was := s.files[path]; was.info != nil && os.SameFile(info, was.info) && info.ModTime().Equal(was.info.ModTime()) && info.Size() == was.info.Size() {
		return was
	}
	f := file{info: info}
	f.spec, f.err = read(path)
	return f
}

// Allocate returns the CDI names of some shares. Two shares of one device are one name. The runtime is asked again: it may
// be another one than at the last look.
func (s *Specs) Allocate(ctx context.Context, resource corev1.ResourceName, ids []string) (node.Grant, error) {
	r := s.Board.Resource(resource)
	if s.Ignored != nil {
		ignored, err := s.Ignored(ctx)
		if err != nil {
			return node.Grant{}, fmt.Errorf("give devices of %s: %w", resource, err)
		}
		if ignored {
			return node.Grant{}, fmt.Errorf("devices of %s cannot be had: %s", resource, ignores)
		}
	}
	var grant node.Grant
	for _, id := range ids {
		at := slices.IndexFunc(r.Devices, func(d node.Device) bool { return d.ID == id })
		if at < 0 || !r.Devices[at].Healthy {
			return node.Grant{}, fmt.Errorf("device %s of %s cannot be had: %s", id, resource, cmp.Or(r.Fault, "no spec of CDI has it"))
		}
		if name := r.CDI.Kind + "=" + nameOf(id); !slices.Contains(grant.CDI, name) {
			grant.CDI = append(grant.CDI, name)
		}
	}
	return grant, nil
}
