package node

import (
	"maps"
	"strings"

	"nodal/node/limit"
)

// Facility is one kind of thing that the node itself prepares for a pod, beside what the
// runtime holds of it. It consists of parts, each of which is set up before containers
// need it. All parts are torn down together, once nothing uses them any more.
type Facility uint8

// The facilities, in the order of their teardown: what is left in a cgroup would hold on
// to the volumes.
const (
	Cgroup  Facility = iota // one part without a name, with the limits of the pod
	Volumes                 // a part for each volume that a container mounts
	Logs                    // no parts: the runtime makes them, and the node removes them
	facilities
)

// Facilities returns all of them, in the order of their teardown.
func Facilities() [facilities]Facility { return [...]Facility{Cgroup, Volumes, Logs} }

// declared holds the properties of each facility.
var declared = [facilities]struct {
	name, part string // as people read them
	setUp      Nature
	torn       bool // a part whose set-up fails may be neither as it was nor as it should be
}{
	Cgroup:  {name: "cgroup", part: "cgroup", setUp: Quick, torn: true},
	Volumes: {name: "volumes", part: "volume", setUp: Slow},
	Logs:    {name: "logs", part: "log", setUp: Quick},
}

func (f Facility) String() string { return declared[f].name }

// PartTarget names the target of setting up a part.
func (f Facility) PartTarget(part string) string {
	return strings.TrimSuffix(declared[f].part+"/"+part, "/")
}

// Part is one part of a facility as it was set up. It is comparable: a part that is
// wanted otherwise is set up again.
type Part struct {
	Version string       // of what a volume was made from
	Image   string       // the id of an image that is a volume
	Limits  limit.Limits // of a cgroup
}

// Laid holds the state of a facility of one pod. The zero value means that nothing is known: an
// agent that has started sets every part up once more.
type Laid struct {
	Parts map[string]Part // by name; never written, so that observations may share it
	Gone  bool            // it was torn down, and no part was set up since
}

func (l Laid) with(name string, part Part) Laid {
	parts := make(map[string]Part, len(l.Parts)+1)
	maps.Copy(parts, l.Parts)
	parts[name] = part
	return Laid{Parts: parts}
}

// Part returns a part of a facility, if it was set up.
func (o *Observed) Part(f Facility, name string) (Part, bool) {
	part, ok := o.Laid[f].Parts[name]
	return part, ok
}

// Lay notes that a part was set up.
func (o *Observed) Lay(f Facility, name string, part Part) { o.Laid[f] = o.Laid[f].with(name, part) }

// VolumeImages returns the ids of the images that are volumes, by volume.
func (o *Observed) VolumeImages() map[string]string {
	var images map[string]string
	for name, part := range o.Laid[Volumes].Parts {
		if part.Image != "" {
			if images == nil {
				images = map[string]string{}
			}
			images[name] = part.Image
		}
	}
	return images
}

type (
	// SetUp makes a part of a facility ready, or brings it up to date.
	SetUp struct {
		Facility Facility
		Name     string // of the part
		Part     Part   // as it is wanted; readers of the plan see why it is done again
	}
	// TearDown removes all that a facility has for the pod, and ends what is left in it.
	TearDown struct{ Facility Facility }
)

// SetUpCgroup gives a pod's own cgroup its limits.
func SetUpCgroup(limits limit.Limits) SetUp {
	return SetUp{Facility: Cgroup, Part: Part{Limits: limits}}
}

// SetUpVolume lays out a version of a volume.
func SetUpVolume(name, version string) SetUp {
	return SetUp{Facility: Volumes, Name: name, Part: Part{Version: version}}
}

func (a SetUp) Target() string    { return a.Facility.PartTarget(a.Name) }
func (a TearDown) Target() string { return a.Facility.String() }

func (a SetUp) About() About  { return About{Place: OnMachine, Nature: declared[a.Facility].setUp} }
func (TearDown) About() About { return About{Place: OnMachine, Nature: Quick} }

func (a SetUp) String() string {
	text := "set up " + declared[a.Facility].part
	if a.Name != "" {
		text += " " + a.Name
	}
	if a.Facility == Cgroup {
		return text + " " + a.Part.Limits.String()
	}
	return strings.TrimSpace(text + " " + a.Part.Version)
}
func (a TearDown) String() string { return "tear down " + a.Facility.String() }

// Kind tells the set-ups of facilities apart.
func (a SetUp) Kind() string { return "SetUp" + capital(declared[a.Facility].part) }

// Kind tells the teardowns of facilities apart.
func (a TearDown) Kind() string { return "TearDown" + capital(a.Facility.String()) }

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }
