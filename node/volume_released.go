package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

type (
	// RemoveFiles removes the files of a volume.
	RemoveFiles struct{ Volume *corev1.PersistentVolume }
	// ForgetVolume removes the record of a volume.
	ForgetVolume struct{ Volume *corev1.PersistentVolume }
)

func (RemoveFiles) Target() string  { return "files" }
func (ForgetVolume) Target() string { return "record" }

func (a RemoveFiles) String() string  { return "remove the files of volume " + a.Volume.Name }
func (a ForgetVolume) String() string { return "forget volume " + a.Volume.Name }

// volumeRest is the pause after which a volume that could not be removed is tried again.
var volumeRest = Rest{time.Minute, time.Minute}

// About is Quick although it may take long: nothing else is done about the volume meanwhile.
func (RemoveFiles) About() About {
	return About{Place: OnMachine, Nature: Quick, Rest: volumeRest}
}
func (ForgetVolume) About() About {
	return About{Place: InJournal, Nature: Quick, Rest: volumeRest}
}
