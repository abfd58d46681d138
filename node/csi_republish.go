package node

import "time"

// RepublishEvery is the time between two publications of a volume whose driver wants to be asked again and again. Tokens of
// service accounts last ten minutes at least, and are renewed well before their end.
const RepublishEvery = time.Minute

type (
	// PublishedVolume is a volume of a pod that is to be published again and again.
	PublishedVolume struct {
		Pod  *Pod
		Name string // in the pod
	}
	// RepublishVolume has a driver publish a volume again that a pod has.
	RepublishVolume struct{ Volume PublishedVolume }
)

func (RepublishVolume) Target() string { return "publication" }
func (a RepublishVolume) String() string {
	return "publish volume " + a.Volume.Name + " again"
}

// About says that a driver is asked within minutes, or fails.
func (RepublishVolume) About() About { return About{Place: OnMachine, Nature: Quick} }

// Concerns returns the pod that hears of a failure.
func (a RepublishVolume) Concerns() *Pod { return a.Volume.Pod }
